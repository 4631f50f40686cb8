import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { slowRuns, until } from './slow-run.ts';
import { install, Terminal } from './tmux.ts';

const { directory: folder, start: startSlow, made } = slowRuns();
let terminal: Terminal | undefined;

beforeAll(() => install('tmux'));
afterEach(() => {
  terminal?.close();
  terminal = undefined;
});

const untimed = (output: string) => output.replace(/ +\d+(\.\d)? s$/gm, '').split('\n');

test('the first Ctrl-C finishes the current change, shows what is left, and the next run goes on', async () => {
  const first = startSlow();
  await made('one.started');
  first.child.kill('SIGINT');
  const { code, output } = await first.ended;
  expect(code).toBe(130);
  expect(untimed(output)).toEqual([
    'slow on ctrl-c-test: here',
    '',
    'play: work  here',
    'stopping after the running changes; press Ctrl-C again to stop at once',
    'here  changed work: one is made  (missing)',
    'here  stopped: interrupted (3 tasks not done, next: two is made)',
    '',
    expect.stringMatching(/^ +ok +changed +unknown +warnings +failed +time$/),
    'here   0        1        0         0       0',
    '1 host in',
    'here: interrupted (3 tasks not done, next: two is made)',
    'interrupted: the next run continues from here',
    '',
  ]);
  expect(readdirSync(folder()).sort()).toEqual(['one', 'one.started']);

  const second = startSlow();
  await made('three.started');
  second.child.kill('SIGINT');
  const { code: again, output: then } = await second.ended;
  expect(again).toBe(130);
  expect(then).toContain('here  changed work: two is made');
  expect(then).not.toContain('one is made');
  // A waiting task is not waited for: its work goes on on the host, and it counts as not done.
  expect(untimed(then)).toContain(
    'here: interrupted; three.service goes on on here (2 tasks not done, next: three is made)',
  );
});

test('the second Ctrl-C stops at once and shows what was interrupted, and the next run goes on', async () => {
  const first = startSlow();
  await made('one.started');
  first.child.kill('SIGINT');
  await until(() => first.output().includes('press Ctrl-C again'), 'the first Ctrl-C is not noticed');
  // Within this time of the first it is the same one, as the next test shows.
  await delay(400);
  first.child.kill('SIGINT');
  const { code, output } = await first.ended;
  expect(code).toBe(130);
  expect(untimed(output).slice(-3)).toEqual([
    'here  cut off: work: one is made',
    'stopped at once: the next run continues from here',
    '',
  ]);
  expect(existsSync(join(folder(), 'one'))).toBe(false);

  const second = startSlow();
  await made('two');
  second.child.kill('SIGINT');
  expect((await second.ended).output).toMatch(/here {2}changed work: one is made/);
});

test('one Ctrl-C that arrives twice, from the terminal and from npx, counts once', async () => {
  const { child, ended } = startSlow();
  await made('one.started');
  child.kill('SIGINT');
  await delay(10);
  child.kill('SIGINT');
  expect((await ended).output).toContain('here: interrupted (3 tasks not done');
});

test.each([
  ['/bin/sh', 'a shell is between'],
  ['/bin/bash', 'the shell is replaced by us'],
])('by npx on a terminal (%s: %s)', async (shell) => {
  terminal = new Terminal(100, 24, 'bash', '--norc', '--noprofile');
  const run = 'npx zx test/terminal/slow.mjs --inventory here --yes';
  terminal.press(`clear; SLOW_DIRECTORY=${folder()} npm_config_script_shell=${shell} ${run}`, 'Enter');
  await made('one.started');
  await terminal.until((screen) => screen.at(-1)?.startsWith('0 of 1 host done, 1 busy') ?? false);
  terminal.press('C-c');
  await terminal.until((screen) => screen.at(-1)?.startsWith('stopping: 0 of 1 host done') ?? false);
  const screen = await terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(screen).toContain('here: interrupted (3 tasks not done, next: two is made)');
  expect(screen.join('\n')).not.toMatch(/busy|\^C/);
  terminal.press('echo code $?', 'Enter');
  await terminal.until((rows) => rows.includes('code 130'));

  terminal.press(`clear; SLOW_DIRECTORY=${folder()} npm_config_script_shell=${shell} ${run}`, 'Enter');
  await made('three.started');
  terminal.press('C-c');
  await terminal.until((rows) => rows.at(-1) === 'shell>');
  expect(terminal.screen().join('\n')).toContain(
    'here: interrupted; three.service goes on on here (2 tasks not done',
  );
});
