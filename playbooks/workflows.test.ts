import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { ourCommandLines, refusal, refusalsIn } from './testing/command-lines.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
interface Workflow {
  on: Record<string, unknown>;
  jobs: Record<string, { steps: { run?: string; uses?: string; env?: Record<string, string> }[] }>;
}

test.each([
  ['.github/workflows/check.yml', ['workflow_call'], ['validate', 'deploy']],
  ['.github/workflows/release.yml', ['push'], []],
  [
    'templates/project/dot-github/workflows/check.yml',
    ['pull_request', 'schedule', 'workflow_dispatch'],
    ['validate', 'deploy'],
  ],
])('the job %s runs command lines that we accept', async (file, events, commands) => {
  const { on, jobs } = parse(readFileSync(join(root, file), 'utf8')) as Workflow;
  expect(Object.keys(on)).toEqual(events);
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  const scripts = steps.flatMap(({ run }) => run ?? []);
  // An expression in a script would run whatever text a branch or an input has: it comes by the
  // environment.
  expect(scripts.filter((script) => script.includes('${{'))).toEqual([]);
  for (const { run, uses } of steps) expect(Boolean(run) !== Boolean(uses)).toBe(true);
  const lines = ourCommandLines(scripts.join('\n'));
  expect(lines.map(([command]) => command)).toEqual(commands);
  expect(await refusalsIn(lines)).toEqual([]);
  const npm = scripts.join('\n').matchAll(/^npm run ([\w:]+)/gm);
  const known = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts);
  expect(known).toEqual(expect.arrayContaining([...npm].map(([, name]) => name)));
});

test('a command line that we refuse is noticed', async () => {
  const [line = []] = ourCommandLines('npx rpc-playbooks validate --inventory "$X" --chekc || exit 1');
  expect(line).toEqual(['validate', '--inventory', '$X', '--chekc']);
  expect(await refusal(line)).toContain('unknown option "--chekc"');
});
