import { expect, test } from 'vitest';
import { command } from '../action.ts';
import type { Connection } from '../connection.ts';
import { makeChanges } from './make-changes.ts';

/** A host that answers each script so. */
const answering = (code: number, stderr: string): Connection => ({
  name: 'h',
  exec: async () => ({ code, stdout: Buffer.alloc(0), stderr: Buffer.from(stderr), timedOut: false }),
  close: async () => {},
  execs: 0,
});

test('a host that cannot run the script is reported with what it says, by the changes and by the reads', async () => {
  const changes = [{ steps: [command`true`], facts: [] }];
  const { readerFor, ended } = makeChanges(
    answering(75, 'no space left\n'),
    'h',
    changes,
    () => {},
    new AbortController().signal,
  );
  const read = readerFor(new Set()).stat('/etc');
  const words = 'h: the host could not run a script of changes (75): no space left';
  await expect(Promise.all([ended, read])).rejects.toThrow(words);
  await expect(read).rejects.toThrow(words);
});
