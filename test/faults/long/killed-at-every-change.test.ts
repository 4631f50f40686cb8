import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resetHosts } from '../../../lab/reset.mjs';
import { labUp } from '../../../lab/up.mjs';
import { labHosts, onHost } from '../../deploy/lab-host.ts';
import { changedLabInventory, folderForTest } from '../../deploy/lab-inventory.ts';
import { runPlaybook, runPlaybookIn } from '../../deploy/playbook.ts';
import { measured } from '../measured.ts';
import { seed } from '../seed.ts';
import { type Fingerprint, fingerprint } from './fingerprint.ts';

const killer = fileURLToPath(new URL('./kill-at-boundary.mjs', import.meta.url));

/** Changes that only wait, and may be done already when the next run checks. */
const waits =
  / (the clock is (synchronised|compared with a time server)|[\w-]+ accepts connections|[\w-]+ stays up)$/;

/** The fingerprint of the undisturbed deployment. */
let undisturbed: Fingerprint;
let applySeconds: Record<string, number>;

beforeAll(async () => {
  await labUp({ log: console.error });
  await resetHosts([...labHosts]);
  // One host at a time, as in the killed runs: then a change finds the same state on the other
  // hosts.
  const run = await runPlaybook('deploy', '-i', 'lab', '--forks', '1', '--json');
  expect(run.exitCode, run.output).toBe(0);
  applySeconds = secondsOfChanges(run.stdout);
  undisturbed = await fingerprint();
  await resetHosts([...labHosts]);
});

afterAll(() => resetHosts([...labHosts]));

describe('the controller is killed (SIGKILL)', () => {
  test('before, during and after every change of a deployment from bare hosts, and between the steps of a script: the next run goes on, and the end is the same', async ({
    task,
  }) => {
    const folder = await folderForTest();
    const inventory = await changedLabInventory({});
    const file = join(folder, 'killed');
    writeFileSync(file, '');
    const environment = {
      NODE_OPTIONS: `--import ${killer}`,
      KILLED: file,
      APPLY_SECONDS: JSON.stringify(applySeconds),
      KILL_SEED: String(seed),
    };
    for (;;) {
      const before = readFileSync(file, 'utf8');
      const run = await runPlaybookIn(environment, 'deploy', '-i', inventory, '--forks', '1', '--json');
      if (run.exitCode === 0) break;
      // Killed, and nothing else: a run that fails by itself could not continue after the previous
      // kill.
      expect(run.exitCode, `after ${before.trim().split('\n').at(-1)}:\n${run.output}`).toBe(null);
    }
    const again = await runPlaybook('deploy', '-i', inventory, '--check');
    expect(again.exitCode, again.output).toBe(0);
    expect(await fingerprint()).toEqual(undisturbed);

    const boundaries = readFileSync(file, 'utf8').trim().split('\n');
    const changes = Object.keys(applySeconds).filter((change) => !waits.test(change));
    // The host may make a quick change or two before it sees that its connection has ended.
    const missed = changes.filter(
      (change) => !boundaries.some((one) => one.includes(JSON.stringify(change))),
    );
    expect(missed.length, missed.join('\n')).toBeLessThan(changes.length / 8);
    const onHosts = await Promise.all(
      labHosts.map((host) => onHost(host, 'sort -u /dev/shm/killed-between-steps || :')),
    );
    const between = onHosts.flatMap((lines) => lines.split('\n').filter(Boolean));
    expect(between.length).toBeGreaterThan(10);
    const places = `${changes.length - missed.length} of ${changes.length} changes and between ${between.length} pairs of steps`;
    measured(task, `${boundaries.length} runs killed at ${places}`);
  }, 7_200_000);
});

/**
 * @param stdout a run's events, one per line
 * @returns the duration of each change, by `HOST ROLE: RESOURCE`
 */
function secondsOfChanges(stdout: string): Record<string, number> {
  const events = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, string | number>);
  const changed = events.filter(({ type, outcome }) => type === 'resource-done' && outcome === 'changed');
  return Object.fromEntries(
    changed.map(({ host, role, resource, seconds }) => [`${host} ${role}: ${resource}`, Number(seconds)]),
  );
}
