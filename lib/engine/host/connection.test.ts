import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import { Unreachable } from './connection-errors.ts';
import { createConnection } from './create-connection.ts';
import { connectLocally, processesWith, standInFor } from './testing/local-connection.ts';

test('exit code, exact output, and standard input', async () => {
  const here = await connectLocally();
  const data = randomBytes(300_000);
  const { code, stdout, stderr } = await here.exec('cat; printf "no newline\\377" >&2; exit 42', {
    stdin: data,
  });
  expect(code).toBe(42);
  expect(stdout.equals(data)).toBe(true);
  expect(stderr.toString('latin1')).toBe('no newline\xff');
  expect((await here.exec('cat', { stdin: new Secret('typed.Pw~1') })).stdout.toString()).toBe('typed.Pw~1');
});

test('a script may have any size and any text, and so may its standard input', async () => {
  const here = await connectLocally();
  const words = `it's "a" \\ $x \`y\` \n é`;
  for (const padding of [0, 19_000, 90_000, 400_000]) {
    const script = `cat <<'END'\n${words}\nEND\ncat; exit 5\n#${'x'.repeat(padding)}`;
    for (const stdin of [undefined, '', 'in', words.repeat(20_000)]) {
      const { code, stdout } = await here.exec(script, { stdin });
      expect([code, stdout.toString()]).toEqual([5, `${words}\n${stdin ?? ''}`]);
    }
  }
});

test('unread standard input is harmless', async () => {
  const here = await connectLocally();
  expect((await here.exec('exit 3', { stdin: Buffer.alloc(3_000_000) })).code).toBe(3);
});

test('a script does not inherit our environment, and finds the system directories', async () => {
  process.env.OF_THE_CONTROLLER = 'secret';
  const here = await connectLocally();
  const { stdout } = await here.exec(
    'echo "$OF_THE_CONTROLLER $LC_ALL $PWD"; case $PATH in */usr/sbin*) echo sbin;;esac',
  );
  delete process.env.OF_THE_CONTROLLER;
  expect(stdout.toString()).toBe(' C /\nsbin\n');
});

test('a time limit ends a script and all its processes, also those that ignore SIGTERM', async () => {
  const here = await connectLocally();
  // Longer than this test may take.
  const mark = `3600.${Date.now() % 1_000_000}`;
  const result = await here.exec(
    `sleep ${mark} & (trap '' TERM; sleep ${mark}; sleep ${mark}) & echo started; sleep ${mark}`,
    {
      timeoutSeconds: 1,
    },
  );
  expect(result).toMatchObject({ code: 124, timedOut: true });
  expect(result.stdout.toString()).toBe('started\n');
  expect(processesWith(`sleep ${mark}`)).toEqual([]);
});

test('a time limit that is not reached has no effect and leaves no watcher', async () => {
  const mark = standInFor('unused', '');
  const here = await connectLocally();
  const { code, stdout, timedOut } = await here.exec('cat; exit 9', { stdin: 'in', timeoutSeconds: 600 });
  expect({ code, timedOut, text: stdout.toString() }).toEqual({ code: 9, timedOut: false, text: 'in' });
  await expect.poll(() => processesWith(mark)).toEqual([]);
});

test('output does not contain what the login shell and sudo print first', async () => {
  const here = createConnection(
    'noisy',
    {
      async run(_, input) {
        const nonce = /echo (\w+);/.exec(String(input))?.[1];
        const stdout = Buffer.from(`Welcome!\n${nonce}\none two`);
        return { code: 0, stdout, stderr: Buffer.from(`sudo: hm\n${nonce}\nerr`) };
      },
      async close() {},
    },
    { prefix: '', password: undefined },
  );
  const { stdout, stderr } = await here.exec('true');
  expect(stdout.toString()).toBe('one two');
  expect(stderr.toString()).toBe('err');
});

test('a login shell that runs nothing is a failure', async () => {
  const here = createConnection(
    'db-1',
    {
      run: async () => ({
        code: 0,
        stdout: Buffer.from('This account is not available.\n'),
        stderr: Buffer.alloc(0),
      }),
      async close() {},
    },
    { prefix: '', password: undefined },
  );
  await expect(here.exec('true')).rejects.toThrow(Unreachable);
  await expect(here.exec('true')).rejects.toThrow(/db-1: .*not available/);
});

test('for a host without base64 the message says what to install', async () => {
  const here = createConnection(
    'db-1',
    {
      run: async () => ({ code: 127, stdout: Buffer.alloc(0), stderr: Buffer.from('base64 is not found\n') }),
      async close() {},
    },
    { prefix: '', password: undefined },
  );
  await expect(here.exec('true')).rejects.toMatchObject({
    message: 'db-1: the login shell did not run a command (it ended with 127): base64 is not found',
    hint: 'install base64 there (coreutils)',
  });
});
