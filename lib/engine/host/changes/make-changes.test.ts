import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Secret } from '../../secret/secret.ts';
import type { Connection } from '../connection.ts';
import { command } from '../step.ts';
import { connectLocally, temporaryDirectory } from '../testing/local-connection.ts';
import { makeChanges } from './make-changes.ts';

/** A host that answers each script so. */
const answering = (code: number, stderr: string): Connection => ({
  name: 'h',
  exec: async () => ({ code, stdout: Buffer.alloc(0), stderr: Buffer.from(stderr), timedOut: false }),
  close: async () => {},
  execs: 0,
});

test('a host that cannot run the script is reported with what it says, by the changes and by the reads', async () => {
  const changes = [{ steps: [command`true`] }];
  const { readerFor, ended } = makeChanges(answering(75, 'no space left\n'), 'h', changes);
  const read = readerFor(new Set()).stat('/etc');
  const words = 'h: the host could not run a script of changes (75): no space left';
  await expect(Promise.all([ended, read])).rejects.toThrow(words);
  await expect(read).rejects.toThrow(words);
});

test('a read with standard input is made after the changes, too', async () => {
  const file = join(temporaryDirectory(), 'made');
  const changes = [{ steps: [command`sleep 0.2; echo yes >${file}`] }];
  const { readerFor, ended } = makeChanges(await connectLocally(), 'h', changes);
  const reader = readerFor(new Set());
  const read = reader.$({ stdin: 'password' })`cat ${file}`;
  expect([(await reader.$`cat ${file}`).text(), (await read).text(), (await ended).made]).toEqual([
    'yes',
    'yes',
    1,
  ]);
});

test('a read gets its own standard input in the same request, also after a change that did not read its own', async () => {
  const connection = await connectLocally();
  const changes = [
    { steps: [command`false`] },
    { steps: [command({ stdin: new Secret('sent.Pw~1') })`cat`] },
  ];
  const { readerFor, ended } = makeChanges(connection, 'h', changes);
  const read = readerFor(new Set()).$({ stdin: new Secret('read.Pw~1') })`cat`;
  expect([(await read).stdout, (await ended).made]).toEqual(['read.Pw~1', 0]);
  expect(connection.execs).toBe(1);
});

test('changes without a read that proves them are one request', async () => {
  const connection = await connectLocally();
  const before = connection.execs;
  const { ended } = makeChanges(connection, 'h', [{ steps: [command`true`] }]);
  expect((await ended).made).toBe(1);
  // A failed request with nobody to report to would end the process a moment later.
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(connection.execs - before).toBe(1);
});

test('a failure that the host could not write down is a failure, and not the end of the run', async () => {
  const changes = [{ steps: [command`mkdir "$__d/failed"; echo 'no space left' >&2; exit 3`] }];
  const { ended } = makeChanges(await connectLocally(), 'h', changes);
  const { made, error } = await ended;
  expect(made).toBe(0);
  expect(String(error)).toMatch(/the host does not say which step failed: (.*\n)*.*no space left/);
});
