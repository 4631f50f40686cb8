import { expect, test } from 'vitest';
import { Secret } from '../secret/secret.ts';
import type { Progress } from './host.ts';
import { CommandFailed } from './output.ts';
import { connectLocally } from './testing/local-connection.ts';
import { createWriter } from './writer.ts';

async function open(signal?: AbortSignal) {
  const reported: Progress[] = [];
  const writer = createWriter(await connectLocally(), 'here', {
    onProgress: (progress) => reported.push(progress),
    signal,
  });
  return { writer, reported };
}

test('a failed command throws, with the command and its output', async () => {
  const { writer } = await open();
  const failed = await writer.run`ls ${'/no such'}; exit 3`.catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(CommandFailed);
  expect((failed as CommandFailed).message).toMatch(/exited with 3: ls '\/no such'; exit 3\nls: .*no such/);
  expect((await writer.run({ allow: [0, 3] })`exit 3`).exitCode).toBe(3);
  await expect(writer.run({ allow: [3] })`true`).rejects.toThrow(/exited with 0/);
});

test('a command that exceeds its time limit throws, even if its exit code is allowed', async () => {
  const { writer } = await open();
  await expect(writer.run({ timeoutSeconds: 1, allow: [0, 124] })`sleep 20`).rejects.toThrow(
    'command took longer than its time limit: sleep 20',
  );
});

test('a secret reaches a command by standard input, and no error shows it', async () => {
  const { writer } = await open();
  const secret = new Secret('hunter2222');
  expect((await writer.run({ stdin: secret })`cat`).stdout).toBe('hunter2222');
  const failed = await writer.run({ stdin: secret })`cat >&2; exit 1`.catch((error: unknown) => error);
  expect((failed as Error).message).toMatch(/\[secret\]/);
  expect((failed as Error).message).not.toMatch(/hunter/);
});

test('progress is reported, and an interrupted sleep ends early without failing', async () => {
  const controller = new AbortController();
  const { writer, reported } = await open(controller.signal);
  writer.progress({ what: 'download', done: 1, total: 2 });
  expect(reported).toEqual([{ what: 'download', done: 1, total: 2 }]);
  setTimeout(() => controller.abort(), 20);
  // Longer than this test may take.
  await writer.sleep(3600);
});

test('what a command gets on standard input is bytes, and no script has it', async () => {
  const real = await connectLocally();
  const scripts: string[] = [];
  const exec: typeof real.exec = (script, options = {}) => {
    scripts.push(script);
    return real.exec(script, options);
  };
  const writer = createWriter({ ...real, exec }, 'here', { onProgress: () => {} });
  const bytes = Buffer.from([0, 255, 10, 13, 39, 92]);
  const { bytes: echoed } = await writer.run({ stdin: bytes })`cat; printf %s ${"it's"}`;
  expect(echoed).toEqual(Buffer.concat([bytes, Buffer.from("it's")]));
  await expect(writer.run({ stdin: 'in' })`cat >&2; exit 3`).rejects.toThrow('exited with 3');
  for (const text of ['the password is hunter3333', 'x'.repeat(50_000)]) {
    expect((await writer.run({ stdin: text })`cat`).stdout).toBe(text);
    const encoded = Buffer.from(text).toString('base64');
    expect(scripts.some((script) => script.includes(text) || script.includes(encoded))).toBe(false);
  }
});

test('of a secret of several lines, the last lines of a failed command show nothing', async () => {
  const lines = Array.from({ length: 12 }, (_, at) => `Lm4nB7vC2xZ9-${at}`);
  const secret = new Secret(lines.join('\n'));
  const { writer } = await open();
  const failure = await writer.run({ stdin: secret })`cat >&2; exit 1`.catch((error: Error) => error.message);
  expect(failure).toContain('exited with 1');
  expect(failure).not.toContain('Lm4nB7');
});
