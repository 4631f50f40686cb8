import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installMissing } from '../install-missing.ts';
import type { Namespaces } from '../kinds/namespaces.ts';
import { chronyc, chronyd } from '../monitoring-programs.mjs';

/** The time service of a host: a real chronyd, which sets no clock, and its time server. */
export interface Clock {
  /** The time server starts again, and its time differs by so many seconds from ours. */
  serve(difference: number): Promise<void>;
}

/**
 * Starts both in a host's namespaces. They end with it.
 *
 * @param bin a folder of programs for the host's scripts
 */
export async function startClock(host: Namespaces, folder: string, bin: string): Promise<Clock> {
  installMissing([['/usr/bin/faketime', 'faketime']]);
  symlinkSync(chronyc, join(bin, 'chronyc'));
  const file = (name: string, lines: readonly string[]) => {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
    return `${chronyd} -x -u root -d -f ${join(folder, name)} >/dev/null 2>&1 &`;
  };
  const server = ['local stratum 5', 'allow 127.0.0.0/8', 'port 1123', 'cmdport 0', 'bindcmdaddress /'];
  const serves = file('time-server.conf', [...server, 'pidfile /run/time-server.pid']);
  // Four questions a second.
  const asks = ['server 127.0.0.1 port 1123 minpoll -2 maxpoll -2 iburst', 'port 0'];
  const follows = file('chrony.conf', [...asks, 'pidfile /run/chronyd.pid']);
  const clock: Clock = {
    async serve(difference) {
      await host.run(`[ ! -e /run/time-server.pid ] || kill "$(cat /run/time-server.pid)"
        while [ -e /run/time-server.pid ]; do sleep 0.1; done
        faketime -f '${difference < 0 ? '' : '+'}${difference}s' ${serves}`);
    },
  };
  await clock.serve(0);
  await host.run(`mkdir -p /run/chrony && ${follows}`);
  return clock;
}
