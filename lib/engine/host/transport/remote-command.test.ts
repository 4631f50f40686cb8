import { spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret } from '../../secret/secret.ts';
import { temporaryDirectory } from '../testing/local-connection.ts';
import { remoteCommand } from './remote-command.ts';

const root = { prefix: '', password: undefined };

/** Ends at a command of more than 9,000 bytes; csh ends at a word of more than 8 KiB. */
const dropbearLimit = 9000;

const scripts = [
  ['an empty script', ''],
  ['a short script', 'printf "%s|" "$#" "it\'s"; cat'],
  ['a long script', `: ${'x'.repeat(100_000)}\nprintf "%s|" "$#" "it's"; cat`],
] as const;
const inputs = [undefined, '', 'input', 'input '.repeat(30_000)];

test.each(scripts)('%s runs with its standard input, which may be short, long or missing', (_, script) => {
  for (const given of inputs) {
    const { command, input } = remoteCommand(
      script,
      root,
      given === undefined ? undefined : Buffer.from(given),
    );
    const { status, stdout } = spawnSync('sh', ['-c', command], { input, encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, script === '' ? '' : `0|it's|${given ?? ''}`]);
  }
});

test('a command line is short, fits every login shell, and has nothing of the script', () => {
  const become = { prefix: `sudo -k -S -p '' `, password: new Secret('sudo.Pw~1') };
  const lines = scripts.flatMap(([, script]) =>
    inputs.map((given) =>
      remoteCommand(script, become, given === undefined ? undefined : Buffer.from(given)),
    ),
  );
  const commands = new Set(lines.map(({ command }) => command));
  // One for each way in which a script travels, whatever the script is.
  expect(commands.size).toBe(3);
  for (const command of commands) {
    expect(command.length).toBeLessThan(dropbearLimit / 10);
    // csh takes neither a line break nor an exclamation mark between quotes; fish has its own
    // backslash there.
    expect(command).not.toMatch(/[\n!\\]/);
  }
  for (const { input } of lines) expect(input.toString()).toMatch(/^sudo\.Pw~1\n/);
});

test('a host without base64 is refused at its first script, which may need none', () => {
  const { command, input } = remoteCommand('echo ran', root, undefined);
  const folder = temporaryDirectory();
  symlinkSync('/bin/sh', join(folder, 'sh'));
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', command], {
    input,
    encoding: 'utf8',
    env: { PATH: folder },
  });
  expect([status, stdout, stderr]).toEqual([127, '', 'base64 is not found\n']);
});

test('a script that arrives in part does not run', () => {
  const script = 'echo one\necho two';
  for (const given of [undefined, Buffer.from('in')]) {
    const { command, input } = remoteCommand(script, root, given);
    const scriptEnd = given === undefined ? input.length : input.indexOf('\n') + 1;
    for (let length = 0; length < scriptEnd; length += 1) {
      const { status, stdout } = spawnSync('sh', ['-c', command], {
        input: input.subarray(0, length),
        encoding: 'utf8',
      });
      expect([status, stdout]).toEqual([127, '']);
    }
  }
});

test('a long script runs only where all of it arrives after its standard input', () => {
  const { command, input } = remoteCommand(`#${'x'.repeat(100_000)}\necho ran`, root, Buffer.from('in'));
  for (const length of [3, 5, 50_000, input.length - 1]) {
    expect(
      spawnSync('sh', ['-c', command], { input: input.subarray(0, length), encoding: 'utf8' }).stdout,
    ).toBe('');
  }
  expect(spawnSync('sh', ['-c', command], { input, encoding: 'utf8' }).stdout).toBe('ran\n');
});
