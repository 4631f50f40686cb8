import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret } from '../../secret/secret.ts';
import type { Connection } from '../connection.ts';
import type { Reader } from '../host.ts';
import { createReader } from '../reader.ts';
import {
  connectLocally,
  processesWith,
  standInFor,
  temporaryDirectory,
} from '../testing/local-connection.ts';
import { createWriter } from '../writer.ts';
import { batchOf } from './batch.ts';
import { batchScript } from './batch-script.ts';

async function open() {
  const connection = await connectLocally();
  return { connection, host: createReader(connection, 'here') };
}

test('reads of one tick are one exec, each with its own exit code, output and error output', async () => {
  const { connection, host } = await open();
  const [a, b, c] = await Promise.all([
    host.$`echo ${'a b'}; exit 3`,
    host.$`echo oops >&2; exec sh -c 'kill -9 $$'`,
    host.$`cd /nowhere || exit; echo not here`,
  ]);
  expect([a.exitCode, a.stdout, a.stderr]).toEqual([3, 'a b\n', '']);
  expect(b.stderr).toBe('oops\n');
  expect(b.ok).toBe(false);
  expect(c.exitCode).toBe(2);
  expect(c.stderr).toMatch(/can't cd/);
  expect(connection.execs).toBe(1);
});

test('reads of a Writer share the batch with those of a Reader', async () => {
  const { connection, host } = await open();
  const writer = createWriter(connection, 'here', { onProgress: () => {} });
  await Promise.all([host.$`echo 1`, writer.$`echo 2`, writer.stat('/'), host.read('/etc/passwd')]);
  expect(connection.execs).toBe(1);
});

test('a second read after the first takes one more round trip for all of them', async () => {
  const { connection, host } = await open();
  const twice = async (word: string) => (await host.$`echo ${(await host.$`echo ${word}`).text()}2`).text();
  expect(await Promise.all(['a', 'b', 'c'].map(twice))).toEqual(['a2', 'b2', 'c2']);
  expect(connection.execs).toBe(2);
});

test('the same read twice in one tick runs once', async () => {
  const { host } = await open();
  const file = join(temporaryDirectory(), 'count');
  const read = () => host.$`echo x >> ${file}; wc -l < ${file}`;
  const counts = await Promise.all([read(), read(), read()]);
  expect(counts.map((count) => count.text())).toEqual(['1', '1', '1']);
});

test('output that looks like a frame, binary output and megabytes come back exactly', async () => {
  const { host } = await open();
  const file = join(temporaryDirectory(), 'data');
  const data = randomBytes(4_000_000);
  writeFileSync(file, data);
  const outputs = await Promise.all([
    host.$`printf '12 o1\n3 total\n'`,
    host.$`cat ${file}`,
    host.$`printf '1 0 0\n'; cat ${file} >&2`,
    host.$`printf ''`,
    host.$`printf 'no newline'`,
  ]);
  expect(outputs.map((output) => output.ok)).toEqual([true, true, true, true, true]);
  expect(outputs[0]?.stdout).toBe('12 o1\n3 total\n');
  expect(outputs[1]?.bytes.equals(data)).toBe(true);
  expect(outputs[3]?.stdout).toBe('');
  expect(outputs[4]?.stdout).toBe('no newline');
});

test('a syntax error, an unclosed quote or an exit does not affect other reads', async () => {
  const { host, connection } = await open();
  const bad = [
    'if; then',
    "echo 'open",
    'echo "$(',
    'exit 5',
    '}',
    ')',
    'exec false',
    'set -e; false; true',
    'cd /nowhere',
  ];
  const [fine, ...outputs] = await Promise.all([
    host.$`echo fine`,
    ...bad.map((text) => runText(host, text)),
  ]);
  expect(fine.text()).toBe('fine');
  expect(outputs.filter((output) => output.ok)).toEqual([]);
  expect(connection.execs).toBe(1);
});

/** Runs a command unchanged. */
function runText(host: Reader, text: string) {
  return host.$(Object.assign([text], { raw: [text] }));
}

test('a read that hangs ends at its own limit, and the others get their results', async () => {
  const { host } = await open();
  // Longer than this test may take.
  const mark = `3600.${Date.now() % 1_000_000}`;
  const [slow, ...rest] = await Promise.all([
    host.$({ timeoutSeconds: 1 })`echo first; sleep ${mark} & sleep ${mark}`,
    ...Array.from({ length: 12 }, (_, index) => host.$`echo ${index}`),
  ]);
  expect(slow.timedOut).toBe(true);
  expect(slow.exitCode).toBe(124);
  expect(slow.stdout).toBe('first\n');
  expect(rest.map((output) => output.text())).toEqual(
    Array.from({ length: 12 }, (_, index) => String(index)),
  );
  expect(processesWith(`sleep ${mark}`)).toEqual([]);
});

test('standard input of a read is empty by default, and given input reaches that read only, in the same exec', async () => {
  const { host, connection } = await open();
  const secret = new Secret('line.Pw~1\n\nline.Pw~2');
  const all = await Promise.all([
    host.$`cat`,
    host.$({ stdin: 'given' })`cat`,
    host.$({ stdin: secret })`cat; exit 7`,
    host.$({ stdin: secret })`tr a-z A-Z`,
    host.$({ stdin: Buffer.from([0, 10, 255]) })`cat`,
    host.$({ stdin: '' })`cat`,
  ]);
  expect(all.map(({ bytes }) => bytes.toString('latin1'))).toEqual([
    '',
    'given',
    'line.Pw~1\n\nline.Pw~2',
    'LINE.PW~1\n\nLINE.PW~2',
    '\0\n\xff',
    '',
  ]);
  expect(all[2]?.exitCode).toBe(7);
  expect(connection.execs).toBe(1);
});

test('an input of a read is in no script and in no process list, and of one that was cut off no read is made', async () => {
  const { connection } = await open();
  const sent: { script: string; stdin: unknown }[] = [];
  const recording: Connection = {
    ...connection,
    exec: (script, options = {}) => {
      sent.push({ script, stdin: options.stdin });
      return connection.exec(script, sent.length > 1 ? { ...options, stdin: '' } : options);
    },
  };
  const host = createReader(recording, 'here');
  const read = () => host.$({ stdin: new Secret('swordfish-in-a-read') })`cat`;
  expect((await read()).stdout).toBe('swordfish-in-a-read');
  const encoded = Buffer.from('swordfish-in-a-read').toString('base64');
  expect(sent[0]?.stdin).toBe(`${encoded}\n`);
  expect(sent[0]?.script).not.toMatch(new RegExp(`swordfish|${encoded}`));
  await expect(read()).rejects.toThrow('the host could not run a batch of reads (1)');
});

test('a command does not see the arguments of the batch', async () => {
  const { host } = await open();
  expect((await host.$`echo $# "$@"`).text()).toBe('0');
});

test('a batch leaves no file and no process', async () => {
  const mark = standInFor('unused', '');
  const { connection } = await open();
  const { stdout } = await connection.exec(
    batchScript(
      [
        { text: 'echo "$__d"', timeoutSeconds: 60 },
        { text: 'echo "$$"', timeoutSeconds: 60 },
      ],
      'quick',
    ).text,
  );
  const directory = /(\/.*rpc-playbooks\.\w+)/.exec(stdout.toString())?.[1];
  expect(directory).toBeDefined();
  expect(existsSync(directory ?? '/')).toBe(false);
  await expect.poll(() => processesWith(mark)).toEqual([]);
});

test('background processes of a read do not affect the others', async () => {
  const { host, connection } = await open();
  // Keeps writing while the reply is assembled.
  const [noisy, quiet] = await Promise.all([
    host.$`(i=0; while [ $i -lt 3000 ]; do echo noise; i=$((i+1)); done; exec sleep 0.2) & echo started`,
    host.$`echo quiet`,
  ]);
  expect(noisy.stdout).toMatch(/^(started|noise)\n/);
  expect(quiet.stdout).toBe('quiet\n');
  expect(connection.execs).toBeLessThanOrEqual(2);
});

test('frames that are invalid or found no room are requested again, once, in a safer form', async () => {
  const sizes = '12 codes\n2 o1\n0 e1\n14 total\n0 0 0\n1 0 0\nhi';
  const fine = { code: 0, stdout: Buffer.from(sizes), stderr: Buffer.alloc(0), timedOut: false };
  const tooLong = { ...fine, stdout: Buffer.from(`${sizes}still writing`) };
  const noRoom = { ...fine, code: 75, stderr: Buffer.from('no room') };
  const ask = async (...replies: (typeof fine)[]) => {
    const scripts: string[] = [];
    const exec = async (script: string) => {
      scripts.push(script);
      return replies[scripts.length - 1] ?? fine;
    };
    const output = batchOf({ name: 'fake', execs: 0, close: async () => {}, exec }).run({
      text: 'echo hi',
      timeoutSeconds: 5,
    });
    return {
      text: await output.then(({ stdout }) => stdout, String),
      careful: scripts.map((s) => s.startsWith('set -- careful')),
    };
  };
  expect(await ask(tooLong)).toEqual({ text: 'hi', careful: [false, true] });
  expect(await ask(noRoom)).toEqual({ text: 'hi', careful: [false, true] });
  expect(await ask(noRoom, noRoom)).toEqual({
    text: 'Problem: fake: no room',
    careful: [false, true],
  });
  expect((await ask({ ...noRoom, code: 3, stderr: Buffer.from('what?') })).text).toBe(
    'Error: fake: the host could not run a batch of reads (3): what?',
  );
  expect((await ask(tooLong, tooLong)).text).toBe(
    'Error: fake: the reply to a batch of reads is damaged: 42 bytes were announced and 55 came',
  );
  const noEnd = { ...fine, stdout: Buffer.from('6 codes\n2 o1\n0 e1\n8 total\n0 0 0\nhi') };
  expect((await ask(noEnd)).text).toBe('Error: fake: the host did not report how a command ended: echo hi');
});

test('a failed exec fails every read of that tick, and no later one', async () => {
  const { connection } = await open();
  let fail = true;
  const flaky: Connection = {
    ...connection,
    execs: 0,
    exec: (script, options) => (fail ? Promise.reject(new Error('gone')) : connection.exec(script, options)),
  };
  const host = createReader(flaky, 'flaky');
  const results = await Promise.allSettled([
    host.$`true`,
    host.stat('/'),
    host.read('/etc/passwd'),
    host.unit('x'),
  ]);
  expect(results.map((result) => result.status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected']);
  fail = false;
  expect((await host.$`echo back`).text()).toBe('back');
});
