import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { slowRuns, until } from './slow-run.ts';
import { install, Terminal } from './tmux.ts';

const { directory, start, made } = slowRuns();
let terminal: Terminal | undefined;

beforeAll(() => install('tmux'));
afterEach(() => {
  terminal?.close();
  terminal = undefined;
});

type Line = { readonly type: string; readonly resource?: string; readonly outcome?: string };
const events = (output: string): Line[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));

const hasIt = /^\S+@\S+ \(process \d+\), which runs slow on ctrl-c-test since \d{4}-\d\d-\d\dT[\d:.]+Z$/;

test('a run waits for the lock of another run, and makes its plan of what that one has left', async () => {
  const first = start();
  await made('three.started');
  const second = start('--wait', '1m', '--json');
  await until(() => second.output().includes('lock-awaited'), 'the second run does not wait');
  // The work of the first run ends on the host, where the second one has not seen it yet.
  writeFileSync(join(directory(), 'three'), '');
  first.child.kill('SIGINT');
  expect((await first.ended).code).toBe(130);
  const { code, output } = await second.ended;
  expect(code).toBe(0);
  const seen = events(output);
  expect(seen.find(({ type }) => type === 'lock-awaited')).toMatchObject({
    host: 'here',
    holder: expect.stringMatching(hasIt),
    most: 60,
  });
  expect(seen.find(({ type }) => type === 'locks-taken')).toMatchObject({ seconds: expect.any(Number) });
  const done = seen.filter(({ type }) => type === 'resource-done');
  expect(done.map(({ resource, outcome }) => `${resource} ${outcome}`)).toEqual([
    'one is made ok',
    'two is made ok',
    'three is made ok',
    'four is made changed',
  ]);
});

test('when the time is over, the run ends with code 5 and changes nothing', async () => {
  const first = start();
  await made('three.started');
  const { code, output } = await start('--wait', '3s').ended;
  first.child.kill('SIGINT');
  await first.ended;
  expect(code).toBe(5);
  expect(output).toMatch(
    /^here {2}waiting up to 3.0 s for its lock: \S+@\S+ \(process \d+\), which runs slow/m,
  );
  expect(output).toMatch(/^here is locked by \S+@\S+ \(process \d+\), which runs slow on ctrl-c-test/m);
  expect(readdirSync(directory())).not.toContain('four.started');
});

test('without --wait a lock ends the run at once', async () => {
  const first = start();
  await made('three.started');
  const { code, output } = await start().ended;
  first.child.kill('SIGINT');
  await first.ended;
  expect(code).toBe(5);
  expect(output).toContain('wait for it to end, as a playbook does with --wait 10m');
});

test('a saved plan is compared after the wait, and refused if the other run has changed something', async () => {
  const plan = join(directory(), 'plan.json');
  expect((await start('--check', '--out', plan).ended).code).toBe(2);
  const first = start();
  await made('three.started');
  const second = start('--plan', plan, '--wait', '1m');
  await until(() => second.output().includes('waiting up to'), 'the second run does not wait');
  first.child.kill('SIGINT');
  await first.ended;
  const { code, output } = await second.ended;
  expect(code).toBe(3);
  expect(output).toContain('one is made');
  expect(readdirSync(directory())).not.toContain('four.started');
  rmSync(plan);
});

test('on a terminal the wait is a live line, and Ctrl-C ends it; the other run goes on', async () => {
  const first = start();
  await made('three.started');
  terminal = new Terminal(120, 24, 'bash', '--norc', '--noprofile');
  const run = 'npx zx test/terminal/slow.mjs --inventory here --yes --wait 10m';
  terminal.press(`clear; SLOW_DIRECTORY=${directory()} ${run}`, 'Enter');
  await terminal.until((screen) => /\d:\d\d {2}waiting for the lock of here: /.test(screen.at(-1) ?? ''));
  expect(terminal.screen().join(' ')).toMatch(/which runs slow on ctrl-c-test since/);
  terminal.press('C-c');
  await terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(terminal.screen()).toContain('here: interrupted (4 tasks not done, next: one is made)');
  terminal.press('echo code $?', 'Enter');
  await terminal.until((rows) => rows.includes('code 130'));
  expect(first.child.exitCode).toBe(null);
  first.child.kill('SIGINT');
  await first.ended;
});
