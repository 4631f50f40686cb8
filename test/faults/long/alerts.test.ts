import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fault } from '../../alerts/fault.ts';
import { startWatchedHost, type Watch } from '../../alerts/watched-host.ts';
import { getMonitoringPrograms } from '../../monitoring-programs.mjs';
import { measured } from '../measured.ts';
import { randomFrom } from '../random.mjs';
import { seed } from '../seed.ts';

// test/alerts/host.test.ts makes these faults all at once. Here each is the only one, and then ten
// of them come while another one is there.

let folder: string;
let watch: Watch | undefined;

const nameOf = ({ alert }: Fault) => alert.split(' ')[0];

/** The host of all these tests, without an alert. */
async function started(): Promise<Watch> {
  watch ??= await startWatchedHost(folder);
  await watch.only([]);
  return watch;
}

describe('Metrics and alerts: a host and its monitor', () => {
  beforeAll(async () => {
    await getMonitoringPrograms();
    folder = await mkdtemp(join(tmpdir(), 'host-alerts-'));
  });
  afterAll(async () => {
    await watch?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  test('each fault alone: its alert fires, no other does, and it clears', async ({ task }) => {
    const watch = await started();
    let longest = 0;
    for (const { alert, also, make, end } of watch.faults) {
      const fired = watch.each([alert]);
      await make();
      longest = Math.max(longest, await fired);
      await watch.only([], [alert, ...(also ?? [])]);
      await end();
      await watch.only([]);
    }
    measured(task, `${watch.faults.length} faults, the slowest alert after ${longest.toFixed(0)} s`);
  });

  test('ten alerts drawn at random fire and clear while a second fault is there', async ({ task }) => {
    const watch = await started();
    const draw = randomFrom(seed);
    const pairs: string[] = [];
    const left = [...watch.faults];
    for (let time = 0; time < 10; time += 1) {
      const fault = draw.of(left);
      left.splice(left.indexOf(fault), 1);
      const second = draw.of(watch.faults.filter((other) => isBeside(other, fault)));
      await second.make();
      await watch.each([second.alert]);
      const fired = watch.each([fault.alert]);
      await fault.make();
      await fired;
      const also = [...(fault.also ?? []), ...(second.also ?? []), fault.alert, second.alert];
      await watch.only([], also);
      await fault.end();
      await second.end();
      await watch.only([]);
      pairs.push(`${nameOf(fault)} with ${nameOf(second)}`);
    }
    expect(pairs).toHaveLength(10);
    measured(task, pairs.join(', '));
  });
});

/** Whether a fault may be there before another one, which is seen nevertheless. */
function isBeside(other: Fault, fault: Fault): boolean {
  // Without an engine no container fails; a stopped timer restores no rule; an alert of the
  // receiver needs Alertmanager.
  const excluding = [/^(DockerDown|Container)/, /^Firewall/, /^Alert/, /^RulesFail/];
  return !other.hides && !excluding.some((each) => each.test(other.alert) && each.test(fault.alert));
}
