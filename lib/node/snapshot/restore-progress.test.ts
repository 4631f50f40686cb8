import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createReader } from '../../engine/host/reader.ts';
import {
  connectLocally,
  processesWith,
  temporaryDirectory,
} from '../../engine/host/testing/local-connection.ts';
import type { SnapshotDatabase } from './database-contents.ts';
import { restoreProgress } from './restore-progress.ts';

/** A database in a container that is not there, with an archive of so many bytes. */
function databaseAt(path: string, bytes: number): SnapshotDatabase {
  writeFileSync(path, Buffer.alloc(bytes));
  return {
    archive: { store: 'state', url: '', sha256: '', path, table: '' },
    target: { container: 'absent', user: 'u', database: 'd' },
  };
}

/**
 * A process of pg_restore's name that has a file open and has read so much of it: a stand-in, for
 * it only waits.
 */
function readingProcess(path: string, bytes: number, ...words: string[]): void {
  const program = join(temporaryDirectory(), 'pg_restore');
  writeFileSync(program, '#!/bin/sh\nread -r _\n', { mode: 0o755 });
  const file = openSync(path, 'r');
  readSync(file, Buffer.alloc(bytes), 0, bytes, null);
  const running = spawn(program, words, { stdio: ['pipe', 'ignore', 'ignore', file] });
  closeSync(file);
  onTestFinished(() => void running.kill());
}

async function progressOf(...databases: SnapshotDatabase[]) {
  return restoreProgress(createReader(await connectLocally(), 'here'), databases);
}

test('a restore reports how much of both archives pg_restore has read', async () => {
  const directory = temporaryDirectory();
  const [state, prover] = [
    databaseAt(join(directory, "the state's"), 1000),
    databaseAt(join(directory, 'prover'), 9000),
  ];
  expect(await progressOf(state, prover)).toEqual({ what: 'restoring' });
  readingProcess(prover.archive.path, 300);
  await expect
    .poll(() => progressOf(state, prover))
    .toEqual({ what: 'restoring', done: 1300, total: 10_000, unit: 'bytes' });
});

test('an archive that is only listed is not taken for one that is restored', async () => {
  const database = databaseAt(join(temporaryDirectory(), 'archive'), 1000);
  readingProcess(database.archive.path, 300, '--list', database.archive.path);
  await expect.poll(() => processesWith(`--list ${database.archive.path}`)).toHaveLength(1);
  expect(await progressOf(database)).toEqual({ what: 'restoring' });
});
