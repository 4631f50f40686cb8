import { readScript } from '../../engine/host/script.ts';
import { ok, type Resource, refused, unknownUntil, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { haveLoggedIn, refusalIn } from '../databases/log-in.ts';
import { renderHost } from '../render/render.ts';
import type { Credentials, Variables } from '../variables/variables.ts';
import { chainsOf, type Place, stateDatabaseOf } from './places.ts';

const script = readScript(new URL('../../../templates/host/from-containers.sh', import.meta.url));
const ask = readScript(new URL('../../../templates/host/ask-servers.sh', import.meta.url));

/** Of one question. Seconds. */
const limit = 4;

/** A place that is asked, and how to log in there. */
interface Asked extends Place {
  readonly login?: Credentials;
}

/** What was answered about the places, by their numbers. */
interface Answers {
  /** From the host, and from the container. */
  readonly host: ReadonlyMap<number, Answer>;
  readonly container: ReadonlyMap<number, Answer>;
  /** Those that /etc/hosts of the host has. */
  readonly named: ReadonlySet<number>;
}

interface Answer {
  readonly is: 'unresolved' | 'unreached' | 'refused';
  readonly reason: string;
}

/**
 * The containers of a host reach what they need: names resolve there, and connections are opened.
 * One short-lived container asks, in their network if it is there. Containers that run with the
 * wanted configuration have reached all of it.
 */
export async function containersReach(context: Context<Variables>): Promise<Resource> {
  const { services, networks } = await renderHost(context);
  const asked = askedBy(context);
  const [network] = networks;
  return {
    name: 'containers reach what they need',
    expects: 'must',
    check: async (host) => {
      if (await haveLoggedIn(host, services)) return ok;
      const lines = asked.map(({ host: name, port, login }) =>
        [name, port, ...(login ? [login.user, login.database, login.password.reveal()] : [])].join(' '),
      );
      const image = services['pool-db']?.image ?? context.vars.images.database;
      const output = await host.$({
        stdin: new Secret(`${lines.join('\n')}\n`),
        timeoutSeconds: 4 * limit + 30,
      })`
        sh -c ${script} from-containers ${limit} ${ask} ${network?.name ?? ''} ${network?.subnet ?? ''} ${image}`;
      return output.ok
        ? verdictOf(output.lines(), asked)
        : unknownUntil('the host answers what its containers reach');
    },
  };
}

function askedBy(context: Context<Variables>): readonly Asked[] {
  const { state, prover } = context.vars.credentials;
  const database = stateDatabaseOf(context);
  // In a rotation the database may have the former password, which is asked for elsewhere.
  const logins = database
    ? [state, prover].map((login) => ({ ...database, ...(!login.password.former && { login }) }))
    : [];
  return [...logins, ...chainsOf(context)];
}

function verdictOf(lines: readonly string[], asked: readonly Asked[]): Verdict {
  const after = (word: string) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));
  const [until] = after('until');
  if (until !== undefined) return unknownUntil(until);
  const said = after('container');
  if (said.some((line) => line.startsWith('code '))) {
    const words = said.filter((line) => line.trim() !== '' && !/^(code|\d+) /.test(line));
    const [first = 'no reason given'] = words;
    const reason = words.find((line) => line.startsWith('docker: ')) ?? first;
    return refused(
      `no container can be started to ask from it: ${reason}`,
      'see journalctl -u docker on the host',
    );
  }
  const answers = {
    host: answersIn(after('host')),
    container: answersIn(said),
    named: new Set(after('named').map(Number)),
  };
  const faults = asked.flatMap((place, at) => faultOf(place, at + 1, answers) ?? []);
  const [first] = faults;
  if (!first) return ok;
  return refused([...new Set(faults.map(({ what }) => what))].join('; '), first.hint);
}

function answersIn(lines: readonly string[]): ReadonlyMap<number, Answer> {
  return new Map(
    lines.flatMap((line) => {
      const [, number, is, reason = ''] = /^(\d+) (unresolved|unreached|refused) ?(.*)$/.exec(line) ?? [];
      return is === undefined ? [] : [[Number(number), { is: is as Answer['is'], reason }]];
    }),
  );
}

interface Fault {
  readonly what: string;
  readonly hint: string;
}

/**
 * What a container cannot do and the host can. What neither reaches may not be there yet, and the
 * checks from the host say what is wrong with it.
 */
function faultOf(
  { host, port, whose, login }: Asked,
  number: number,
  { host: fromHost, container, named }: Answers,
): Fault | undefined {
  const [answer, other] = [container.get(number), fromHost.get(number)];
  if (answer === undefined) return undefined;
  const place = `${host}:${port} (${whose})`;
  if (answer.is === 'unresolved')
    return unresolved(`${host} (${whose})`, other?.is === 'unresolved', named.has(number));
  if (answer.is === 'unreached') {
    if (other !== undefined) return undefined;
    return {
      what: `${place} can be reached from the host, and not from containers: ${answer.reason || `no answer within ${limit} s`}`,
      hint: 'let packets of Docker\'s networks out: see the chain FORWARD of the host\'s firewall (docs/network.md, "Networks of containers")',
    };
  }
  const refusal = refusalIn(answer.reason);
  if (refusal === undefined) return undefined;
  return {
    what: `${place} refuses ${login?.user} from containers: ${refusal}`,
    hint: 'compare credentials in the inventory with the database (docs/secrets.md, "Rotate passwords")',
  };
}

function unresolved(name: string, isNowhere: boolean, isInHosts: boolean): Fault {
  if (isNowhere) {
    return {
      what: `${name} resolves neither on the host nor in containers`,
      hint: 'check the name in the inventory, and the DNS server of the host',
    };
  }
  if (isInHosts) {
    return {
      what: `${name} resolves on the host, by /etc/hosts, and not in containers`,
      hint: 'give the address in the inventory, or the name to the DNS server of the host',
    };
  }
  return {
    what: `${name} resolves on the host, and not in containers`,
    hint: 'containers ask the DNS servers in /etc/resolv.conf of the host, or those of dns in /etc/docker/daemon.json: give the name to one of them, or the address in the inventory',
  };
}
