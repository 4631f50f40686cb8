import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { exitCode } from '../../lib/engine/problem/problem.ts';
import { installForLightHosts, startLightHost } from './light-host.ts';
import { measured } from './measured.ts';
import { runLight, runLightIn } from './run-light.ts';

const killer = fileURLToPath(new URL('./long/kill-at-boundary.mjs', import.meta.url));

/**
 * The changes of a run, as the killer names them. It ends no run before, during or after one of
 * these.
 */
const changes = [
  'files: directory /etc/light/node',
  'files: file /etc/light/node/grüße.conf',
  'files: line "two" in /etc/list',
  'files: all parts are there',
  'work: work is done',
  'work: file /etc/light/after',
];

test('script and controller killed between any two steps: nothing is half-written, and the next run goes on', async ({
  task,
}) => {
  installForLightHosts();
  const host = await startLightHost('killed');
  const folder = mkdtempSync(join(tmpdir(), 'killed-'));
  onTestFinished(async () => {
    rmSync(folder, { recursive: true });
    await host.stop();
  });
  const members = [{ host, inventory: { vars: { files_in_one_task: 3 } } }];
  const file = join(folder, 'killed');
  const other = changes.flatMap((change) =>
    ['before', 'during', 'after'].map((boundary) => `${JSON.stringify([boundary, `killed ${change}`])}\n`),
  );
  writeFileSync(file, other.join(''));

  const seen: string[] = [];
  for (;;) {
    const run = await runLightIn({ NODE_OPTIONS: `--import ${killer}`, KILLED: file }, members);
    if (run.exitCode === exitCode.converged) break;
    // Killed, and nothing else: a run that fails by itself could not continue after the previous
    // kill.
    expect(run.exitCode, run.stderr + run.errorsOf('killed')).toBe(null);
    // Sizes of complete files; no temporary file is left.
    const there = host.run('cd /etc; cat list; find light -type f -printf "%p %s\\n" | sort');
    for (const line of there.split('\n').filter(Boolean)) expect(complete).toContain(line);
    seen.push(there);
  }
  const boundaries = readFileSync(file, 'utf8').trim().split('\n').slice(other.length);
  expect(boundaries).toEqual([...new Set(boundaries)]);
  // Each state of the steps in a row was seen: before the second one, up to before the last one.
  expect(new Set(seen).size).toBeGreaterThanOrEqual(5);
  measured(task, `${boundaries.length} runs killed between steps`);
  expect(host.run('cat /etc/light/node/grüße.conf /etc/list /etc/light/after; ls -A /etc/light')).toBe(
    'Gruß = "schön"\none\ntwo\nafter the work\nafter\ndone\nnode\npart-1\npart-2\npart-3\nstarted\n',
  );
  const check = await runLight(members, '--check');
  expect(check.exitCode).toBe(exitCode.converged);
});

/** Every line that a killed run may leave. */
const complete = [
  'one',
  'two',
  'light/node/grüße.conf 17',
  ...[1, 2, 3].map((part) => `light/part-${part} 5000`),
  'light/done 0',
  'light/started 8',
  'light/after 15',
];
