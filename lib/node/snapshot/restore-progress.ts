import { readFileSync } from 'node:fs';
import type { Progress, Reader } from '../../engine/host/host.ts';
import { sqlLiteral } from '../databases/postgres.ts';
import type { SnapshotDatabase } from './database-contents.ts';

const script = readFileSync(new URL('../../../templates/host/restore-progress.sh', import.meta.url), 'utf8');

/**
 * How far a restore is: what is being copied or indexed, and how much of both archives was read.
 * pg_restore itself does not report how much it has read, so the kernel is asked; the host sees
 * the processes of containers, too.
 *
 * @param databases in the order in which they are restored
 * @returns bytes of the archives, compressed as they are
 */
export async function restoreProgress(
  host: Reader,
  databases: readonly SnapshotDatabase[],
): Promise<Progress> {
  const paths = databases.map(({ archive }) => archive.path);
  const [what, readers, ...files] = await Promise.all([
    phase(host, databases),
    host.$`sh -c ${script} restore-progress ${paths}`,
    ...paths.map((path) => host.stat(path)),
  ]);
  const found = readers.lines().map((line) => line.split('\t'));
  const reading = found.filter(([bytes]) => bytes !== '');
  const [, jobs, path = ''] = reading[0] ?? [];
  const current = paths.indexOf(path);
  const ofCurrent = reading.filter((line) => line[2] === path);
  // A job that has ended takes its count along: then how much was read is not known.
  if (current === -1 || ofCurrent.length !== Number(jobs)) return { what };
  const bytes = sum(ofCurrent.map(([read]) => Number(read)));
  const sizes = files.map((file) => file?.size ?? 0);
  // Jobs read some bytes twice, where one ends and the next one starts.
  const done = Math.min(sum(sizes.slice(0, current)) + bytes, sum(sizes.slice(0, current + 1)));
  return { what, done, total: sum(sizes), unit: 'bytes' };
}

async function phase(host: Reader, databases: readonly SnapshotDatabase[]): Promise<string> {
  const [first] = databases;
  if (!first) return 'restoring';
  const names = databases.map(({ target }) => sqlLiteral(target.database)).join(', ');
  const result = await host.sql(
    first.target,
    `select (select datname from pg_stat_progress_copy where datname in (${names}) and command = 'COPY FROM' limit 1),
            (select datname || ': ' || phase from pg_stat_progress_create_index where datname in (${names}) limit 1)`,
  );
  const [copied, indexed] = (result.ok && result.rows[0]) || [];
  if (indexed) return `restoring, ${indexed}`;
  return copied ? `restoring, filling ${copied}` : 'restoring';
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
