import type { Reader } from '../../engine/host/host.ts';
import { seconds as duration } from '../../engine/output/units.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { readText } from '../../engine/resource/file/edited-text.ts';
import { pause } from '../../engine/resource/job/pause.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
  type Work,
} from '../../engine/resource/resource.ts';

const configuration = '/etc/chrony/chrony.conf';

/** A clock that is further off is not synchronised, whatever chronyd reports. Seconds. */
const largestOffset = 0.5;

/**
 * A clock whose last reference is older follows nobody, although chronyd says Normal for days: it
 * asks a server at most every 1024 s (maxpoll 10, its default), and forgets one that has not
 * answered eight times. Seconds.
 */
const oldestReference = 3 * 3600;

/** After a start chronyd needs several answers of a server before it selects it. Seconds. */
const synchronisationLimit = 90;

/** A file in /etc/chrony/sources.d for these servers. */
export function chronySources(servers: readonly string[]): string {
  return servers.map((server) => `server ${server} iburst\n`).join('');
}

/**
 * The distribution's time servers are turned into comments, so that chrony uses the given ones
 * only.
 */
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

/**
 * chronyd has selected a server, and the clock follows it.
 *
 * @param isOwn whether this host can set its clock. A container cannot: there chronyd compares
 * only, however far the clock is off
 */
export function clockIsSynchronised({ isOwn }: { readonly isOwn: boolean }): Work {
  const most = isOwn ? largestOffset : Number.POSITIVE_INFINITY;
  return {
    name: isOwn ? 'the clock is synchronised' : 'the clock is compared with a time server',
    check: (host) => look(host, most),
    async work(host) {
      const start = performance.now();
      for (;;) {
        // The host answers when its clock follows a server, or after 10 s.
        const looked = look(host, most, `chronyc -n waitsync 5 ${isOwn ? largestOffset : 0} 0 2 >/dev/null`);
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

/** Nothing on a container makes its clock right. */
export function clockOfMachineIsRight(): Resource {
  return expectation('the clock of the machine is right', {
    check: (host) => look(host, largestOffset),
    severity: 'should',
    hint: 'this host is a container, which has the clock of its machine: synchronise that one',
  });
}

/**
 * @param most how far the clock may be off, in seconds
 * @param first a command before it
 */
async function look(host: Reader, most: number, first = ':'): Promise<Verdict> {
  const [tracking, time] = await Promise.all([
    host.$`eval ${first}; chronyc -c -n tracking`,
    host.$`date +%s`,
  ]);
  if (tracking.exitCode === 127) return unknownUntil('chrony is installed');
  if (!tracking.ok) return drift('chronyd does not answer');
  return trackingVerdict(tracking.text(), Number(time.text()), most);
}

/**
 * Judges a clock.
 *
 * @param tracking one line of comma-separated fields, as `chronyc -c tracking` prints it: the 2nd
 * is the server, the 4th the time of
 *   its last answer, the 5th the offset
 * @param now by the host's clock, in seconds since 1970
 * @param most how far the clock may be off, in seconds
 */
export function trackingVerdict(tracking: string, now: number, most = largestOffset): Verdict {
  const fields = tracking.split(',');
  const [, server = '', , reference = '', offset = ''] = fields;
  const leap = fields.at(-1);
  if (!server || leap === 'Not synchronised') return drift('chrony has selected no time server');
  const age = now - Number(reference);
  if (age > oldestReference)
    return drift(`the clock follows nobody: ${server} last answered ${duration(age)} ago`);
  const seconds = Math.abs(Number(offset));
  if (Number.isFinite(seconds) && seconds <= most) return ok;
  return drift(`the clock is ${offset} s off ${server}`);
}
