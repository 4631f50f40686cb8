import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { newAuthority, newKey } from './openssl.ts';

async function problemOf(work: Promise<unknown>): Promise<readonly [string, string | undefined]> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  if (!(error instanceof Problem)) throw new Error('it was made');
  return [error.message, error.hint];
}

test('a key that openssl does not take is named, and not shown', async () => {
  const [message] = await problemOf(newAuthority('lab', new Secret('text.Pw~3')));
  expect(message).toMatch(/^openssl makes no certificate: /);
  expect(message).not.toContain('text.Pw~3');
});

test('a machine without openssl is named, with what to do', async () => {
  const folder = temporaryDirectory();
  for (const program of ['sh', 'cat']) symlinkSync(`/bin/${program}`, join(folder, program));
  const before = process.env.PATH;
  process.env.PATH = folder;
  onTestFinished(() => {
    process.env.PATH = before;
  });
  expect(await problemOf(newAuthority('lab', newKey()))).toEqual([
    'this machine has no openssl',
    'install it: it signs the certificates of database servers',
  ]);
});
