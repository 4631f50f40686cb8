import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installMissing } from '../install-missing.ts';
import type { Namespaces } from '../kinds/namespaces.ts';

/** Names of the containers, as the inventory has them. */
export const containers = ['pool-db', 'prover', 'json-rpc'] as const;

/** A Docker engine of its own, in a host's namespaces, with small containers. */
export interface Engine {
  /** The folder with `systemctl`, as the host's scripts ask it: there is no systemd. */
  readonly bin: string;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Runs docker. */
  docker(words: string): Promise<string>;
  /** Ends what runs in a container, from outside: its program failed. */
  crash(container: string): Promise<void>;
}

/**
 * The engine of a host, as /run/docker.sock there, with the containers.
 *
 * @param folder for its files
 */
export async function startEngine(host: Namespaces, folder: string): Promise<Engine> {
  installMissing([
    ['/usr/sbin/dockerd', 'docker.io'],
    ['/bin/busybox', 'busybox-static'],
  ]);
  const [bin, root] = [join(folder, 'bin'), join(folder, 'image')];
  for (const each of [bin, join(root, 'bin')]) mkdirSync(each, { recursive: true });
  cpSync('/bin/busybox', join(root, 'bin/busybox'), { dereference: true });
  // Of the health check.
  symlinkSync('busybox', join(root, 'bin/sh'));
  // Asked by `is-active --quiet docker.service`.
  writeFileSync(join(bin, 'systemctl'), '#!/bin/sh\nkill -0 "$(cat /run/docker.pid)"\n', { mode: 0o755 });
  const docker = (words: string) => host.run(`docker -H unix:///run/docker.sock ${words}`);
  const options = [
    `--data-root ${folder}/docker --exec-root /run/docker-exec --pidfile /run/docker.pid`,
    '-H unix:///run/docker.sock --bridge none --iptables=false --ip6tables=false --storage-driver vfs',
  ];
  const start = async () => {
    await host.run(`dockerd ${options.join(' ')} >${folder}/dockerd.log 2>&1 &
      for try in $(seq 100); do
        docker -H unix:///run/docker.sock version >/dev/null 2>&1 && exit
        sleep 0.2
      done
      tail -n 5 ${folder}/dockerd.log >&2; exit 1`);
  };
  await start();
  await host.run(`tar -C ${root} -c . | docker -H unix:///run/docker.sock import - small`);
  const check = "--health-cmd 'busybox test ! -e /ill' --health-interval 1s --health-retries 1";
  for (const name of containers)
    await docker(`run -d --network none --name ${name} --restart always ${check} small busybox sleep 100000`);
  return {
    bin,
    start,
    stop: async () => {
      await host.run('kill "$(cat /run/docker.pid)"; while [ -e /run/docker.pid ]; do sleep 0.1; done');
    },
    docker,
    crash: async (name) => {
      // Between two starts it is 0, which kill takes for all processes of the group.
      const pid = Number(await docker(`inspect --format '{{.State.Pid}}' ${name}`));
      if (pid > 0) await host.run(`kill -9 ${pid}`);
    },
  };
}
