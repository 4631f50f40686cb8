import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { temporaryDirectory } from '../lib/engine/host/testing/local-connection.ts';
import { ourCommandLines, refusal, refusalsIn } from './testing/command-lines.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
interface Job {
  if?: string;
  env?: Record<string, string>;
  permissions?: Record<string, string>;
  steps: { name?: string; run?: string; uses?: string }[];
}
interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

test.each([
  ['.github/workflows/check.yml', ['workflow_call'], ['validate', 'deploy']],
  ['.github/workflows/release.yml', ['push'], []],
  [
    'templates/project/dot-github/workflows/check.yml',
    ['schedule', 'workflow_dispatch'],
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
  // A tag can move to another commit.
  for (const uses of steps.flatMap((step) => step.uses ?? [])) expect(uses).toMatch(/^[\w/-]+@[0-9a-f]{40}$/);
  // A script of a package would run with what the job may do.
  for (const script of scripts.join('\n').match(/npm (ci|pack|publish)\b.*/g) ?? [])
    expect(script).toContain('--ignore-scripts');
  for (const { run, uses } of steps) expect(Boolean(run) !== Boolean(uses)).toBe(true);
  const lines = ourCommandLines(scripts.join('\n'));
  expect(lines.map(([command]) => command)).toEqual(commands);
  expect(await refusalsIn(lines)).toEqual([]);
  const npm = scripts.join('\n').matchAll(/^npm run ([\w:]+)/gm);
  const known = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts);
  expect(known).toEqual(expect.arrayContaining([...npm].map(([, name]) => name)));
});

const workflow = (file: string) => parse(readFileSync(join(root, file), 'utf8')) as Workflow;

test('a pull request gets no secret, unless the caller says so', () => {
  const { on, jobs } = workflow('.github/workflows/check.yml');
  expect(on.workflow_call).toMatchObject({ inputs: { 'pull-requests': { default: false } } });
  expect(jobs.check?.if).toMatch(/^github\.event_name != 'pull_request' \|\| \(inputs\.pull-requests && /);
  expect(JSON.stringify(jobs.check?.env)).not.toContain('secrets.');
});

test('the job that may publish installs no package', () => {
  const { permissions, jobs } = workflow('.github/workflows/release.yml');
  expect(permissions).toEqual({ contents: 'read' });
  expect(jobs.tests?.permissions).toBeUndefined();
  expect(jobs.release?.permissions).toEqual({ contents: 'write', 'id-token': 'write' });
  expect(jobs.release?.steps.filter(({ run }) => run?.includes('npm ci'))).toEqual([]);
});

test('no text of a host leaves the block of code in a comment', () => {
  const { jobs } = workflow('.github/workflows/check.yml');
  const script = jobs.check?.steps.find(({ name }) => name === 'Comment the plan')?.run ?? '';
  const folder = temporaryDirectory();
  const hostile = 'one\n```\n@everybody\n~~~\r</code>\r\n# title\n\n![x](http://evil)\n';
  writeFileSync(join(folder, 'plan.txt'), hostile);
  writeFileSync(join(folder, 'gh'), '#!/bin/sh\nprintf "%s\\n" "$@" > arguments\n', { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env.PATH}`, INVENTORY: 'mainnet', PULL_REQUEST: 'https://pull' };
  execFileSync('bash', ['-e', '-c', script], { cwd: folder, env });
  const [title, blank, ...lines] = readFileSync(join(folder, 'comment.md'), 'utf8')
    .trimEnd()
    .split(/[\r\n]/);
  expect([title, blank]).toEqual(['Check mode:', '']);
  expect(lines.length).toBe(9);
  expect(lines.filter((line) => !line.startsWith('    '))).toEqual([]);
  expect(readFileSync(join(folder, 'arguments'), 'utf8')).toContain('comment.md');
});

test('a command line that we refuse is noticed', async () => {
  const [line = []] = ourCommandLines('npx rpc-playbooks validate --inventory "$X" --chekc || exit 1');
  expect(line).toEqual(['validate', '--inventory', '$X', '--chekc']);
  expect(await refusal(line)).toContain('unknown option "--chekc"');
});
