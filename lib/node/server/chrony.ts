import type { Reader } from '../../engine/host/host.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { readText } from '../../engine/resource/file/edited-text.ts';
import { pause } from '../../engine/resource/job/pause.ts';
import { drift, ok, type Resource, unknownUntil, type Verdict, type Work } from '../../engine/resource/resource.ts';

const configuration = '/etc/chrony/chrony.conf';

/** A clock that is further off is not synchronised, whatever chronyd reports. Seconds. */
const largestOffset = 0.5;

/** After a start chronyd needs several answers of a server before it selects it. Seconds. */
const synchronisationLimit = 90;

/** A file in /etc/chrony/sources.d for these servers. */
export function chronySources(servers: readonly string[]): string {
  return servers.map((server) => `server ${server} iburst\n`).join('');
}

/** The distribution's time servers are turned into comments, so that chrony uses the given ones only. */
export function withoutDistributionServers(): Resource {
  return {
    name: 'chrony uses no other time servers',
    async check(host) {
      const file = await readText(host, configuration);
      if (file === undefined) return unknownUntil('chrony is installed');
      const wanted = file.text.replace(/^[ \t]*(?=(pool|server)[ \t])/gm, '#');
      if (file.text === wanted) return ok;
      return drift([{ what: configuration, was: file.text, wanted }], [file.to(wanted)]);
    },
  };
}

/** chronyd has selected a server, and the clock follows it. */
export function clockIsSynchronised(): Work {
  return {
    name: 'the clock is synchronised',
    check: (host) => look(host),
    async work(host) {
      const start = performance.now();
      for (;;) {
        // The host answers when its clock follows a server, or after 10 s.
        const looked = look(host, `chronyc -n waitsync 5 ${largestOffset} 0 2 >/dev/null`);
        await pause(host, 60, undefined, looked);
        const verdict = await looked;
        if (verdict.is === 'ok') return;
        const waited = Math.round((performance.now() - start) / 1000);
        if (waited >= synchronisationLimit) {
          const sources = await host.$`chronyc -n sources`;
          throw new Failure(
            `chrony selected no time server within ${synchronisationLimit} s\n${sources.text()}`.trim(),
            { hint: 'check time_servers in the inventory, and that UDP port 123 is open to them' },
          );
        }
        host.progress({
          what: 'waiting for a time server',
          done: waited,
          total: synchronisationLimit,
          unit: 'seconds',
        });
        // It answers at once where chronyd does not run.
        await pause(host, 2);
      }
    },
  };
}

async function look(host: Reader, first = ':'): Promise<Verdict> {
  const tracking = await host.$`eval ${first}; chronyc -c -n tracking`;
  if (tracking.exitCode === 127) return unknownUntil('chrony is installed');
  return tracking.ok ? trackingVerdict(tracking.text()) : drift('chronyd does not answer');
}

/** @param tracking one line of comma-separated fields, as `chronyc -c tracking` prints it; the 2nd is the server, the 5th the offset */
export function trackingVerdict(tracking: string): Verdict {
  const fields = tracking.split(',');
  const [, server = '', , , offset = ''] = fields;
  const leap = fields.at(-1);
  if (!server || leap === 'Not synchronised') return drift('chrony has selected no time server');
  const seconds = Math.abs(Number(offset));
  if (Number.isFinite(seconds) && seconds <= largestOffset) return ok;
  return drift(`the clock is ${offset} s off ${server}`);
}
