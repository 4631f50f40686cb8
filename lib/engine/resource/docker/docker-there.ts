import type { Reader } from '../../host/host.ts';
import { readScript } from '../../host/script.ts';
import { Failure } from '../../problem/problem.ts';
import { drift, expectation, ok, type Resource } from '../resource.ts';

const script = readScript(
  ...['docker-root', 'docker-there'].map(
    (name) => new URL(`../../../../templates/host/${name}.sh`, import.meta.url),
  ),
);

/** What a host has of Docker, by what is there and answers, whoever installed it. */
export interface DockerThere {
  /**
   * The package of the system's own engine, empty if no package has installed it. Undefined without
   * an engine.
   */
  readonly engine: string | undefined;
  readonly client: boolean;
  /** The version of Compose that answers, and that the engine can work with. */
  readonly compose: 1 | 2 | undefined;
  /**
   * Whether the kernel has AppArmor, and the program that loads its profiles is missing: Docker
   * 20.10 then starts no container, and later ones start each without its profile.
   */
  readonly lacksAppArmor: boolean;
  /** Why this host cannot be used as it is. */
  readonly refusal: Failure | undefined;
}

/** Reads what a host has of Docker. */
export async function readDocker(host: Reader): Promise<DockerThere> {
  return parseDocker((await host.$`sh -c ${script}`).stdout);
}

/**
 * The requirement that Docker, where it is there, is an engine that the deployment can use.
 * Checked before anything is installed.
 */
export function dockerCanBeUsed(): Resource {
  return expectation('docker, where it is there, can be used', {
    check: async (host) => {
      const { refusal } = await readDocker(host);
      return refusal ? drift(refusal.message, refusal) : ok;
    },
  });
}

/**
 * @param text lines of `docker-there.sh`
 */
function parseDocker(text: string): DockerThere {
  const lines = text.split('\n');
  const rest = (word: string) =>
    lines.find((line) => line === word || line.startsWith(`${word} `))?.slice(word.length + 1);
  const compose = rest('compose');
  return {
    engine: rest('engine'),
    client: lines.includes('client'),
    compose: ([1, 2] as const).find((version) => String(version) === compose),
    lacksAppArmor: lines.includes('no apparmor_parser'),
    refusal: refusalOf({
      isSnap: lines.includes('snap'),
      hasOwnUsers: lines.includes('userns'),
      hasNoWayOut: lines.includes('no way out'),
      user: lines.includes('running') ? undefined : rest('rootless'),
      other: rest('not docker'),
    }),
  };
}

interface Foreign {
  readonly isSnap: boolean;
  /** Root in a container is another user on the host. */
  readonly hasOwnUsers: boolean;
  /** Containers reach no other host. */
  readonly hasNoWayOut: boolean;
  /** The user of an engine without root, where the system's own does not run. */
  readonly user: string | undefined;
  /** What a program answers that is only called docker. */
  readonly other: string | undefined;
}

function refusalOf({ isSnap, hasOwnUsers, hasNoWayOut, user, other }: Foreign): Failure | undefined {
  if (isSnap) {
    return new Failure(
      'docker is installed as a snap: its data and its daemon.json are below /var/snap/docker, where snap alone decides',
      {
        hint: 'move its containers and volumes elsewhere, then snap remove docker; a deploy installs the engine of the distribution',
      },
    );
  }
  if (user !== undefined) {
    return new Failure(
      `docker runs without root here, for user ${user}, and the system's own engine does not run`,
      {
        hint: `decide which one this host has: systemctl enable --now docker for the system's own, or, as ${user}, dockerd-rootless-setuptool.sh uninstall --force`,
      },
    );
  }
  if (hasOwnUsers) {
    return new Failure(
      'docker gives its containers users of their own (userns-remap): they cannot read the files of the deployment, and no database can own its data',
      {
        hint: 'if nothing else needs that: stop the containers, take userns-remap out of /etc/docker/daemon.json (or out of docker.service), and systemctl restart docker. The images and containers that it has now are hidden then, and are back with the setting',
      },
    );
  }
  if (hasNoWayOut) {
    return new Failure(
      'docker makes no rules for packets here (iptables: false), and nobody else masquerades what containers send: they reach no other host',
      {
        hint: "take iptables out of /etc/docker/daemon.json (or out of docker.service), and systemctl restart docker: the deployment's own rules guard its ports either way. Or masquerade what containers send to other hosts, also after a reboot",
      },
    );
  }
  if (other !== undefined) {
    return new Failure(`the program docker on this host is not Docker: ${other}`, {
      hint: 'remove the package that it is from, such as podman-docker: dpkg --search "$(command -v docker)"',
    });
  }
  return undefined;
}
