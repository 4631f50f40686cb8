import type { Progress, Reader } from '../../engine/host/host.ts';
import { sqlLiteral } from '../databases/postgres.ts';
import type { Store } from './restored.ts';

/**
 * How far a restore is: what is being copied or indexed, and how much of both archives was read. What is read is seen from the
 * kernel, by the offset at which pg_restore has an archive open, or by what its jobs have read: it does not say itself, and how large
 * the databases become is not known. The host sees the processes of containers, too.
 *
 * @param stores in the order in which they are restored
 * @returns bytes of the archives, compressed as they are
 */
export async function restoreProgress(host: Reader, stores: readonly Store[]): Promise<Progress> {
  const [what, read, ...files] = await Promise.all([
    phase(host, stores),
    bytesRead(host, stores),
    ...stores.map(({ archive }) => host.stat(archive.path)),
  ]);
  const sizes = files.map((file) => file?.size ?? 0);
  if (!read) return { what };
  // What is read again from one job's place to another's does not count.
  const done = Math.min(sum(sizes.slice(0, read.store)) + read.bytes, sum(sizes.slice(0, read.store + 1)));
  return { what, done, total: sum(sizes), unit: 'bytes' };
}

async function phase(host: Reader, stores: readonly Store[]): Promise<string> {
  const [first] = stores;
  if (!first) return 'restoring';
  const databases = stores.map(({ target }) => sqlLiteral(target.database)).join(', ');
  const result = await host.sql(
    first.target,
    `select (select datname from pg_stat_progress_copy where datname in (${databases}) and command = 'COPY FROM' limit 1),
            (select datname || ': ' || phase from pg_stat_progress_create_index where datname in (${databases}) limit 1)`,
  );
  const [copied, indexed] = (result.ok && result.rows[0]) || [];
  if (indexed) return `restoring, ${indexed}`;
  return copied ? `restoring, filling ${copied}` : 'restoring';
}

/**
 * With several jobs pg_restore reads the archive in as many processes, each from one place to another: then it is what they have read
 * that counts, as long as all of them are there: one that has ended takes its count along. Their parent reads the table of contents
 * alone.
 *
 * @returns which of the archives is open, and how much of it was read; undefined where pg_restore does not run, or only lists one
 */
async function bytesRead(
  host: Reader,
  stores: readonly Store[],
): Promise<{ store: number; bytes: number } | undefined> {
  // A process may end between two looks at it: that is no error.
  const output = await host.$`
    number() { sed -n "s/^$1:[[:space:]]*//p" "$2" 2>/dev/null; }
    for pid in $(pgrep -x pg_restore); do
      words=$(tr '\\0' '\\n' </proc/$pid/cmdline 2>/dev/null)
      printf '%s\\n' "$words" | grep -q -x -e --list && continue
      jobs=$(printf '%s\\n' "$words" | sed -n 's/^--jobs=//p')
      parent=$(number PPid /proc/$pid/status)
      for archive in ${stores.map(({ archive }) => archive.path)}; do
        for file in /proc/$pid/fd/*; do
          [ "$file" -ef "$archive" ] || continue
          if [ "$(cat "/proc/$parent/comm" 2>/dev/null)" = pg_restore ]; then read=$(number rchar /proc/$pid/io)
          elif [ -n "$jobs" ]; then read=
          else read=$(number pos "/proc/$pid/fdinfo/\${file##*/}")
          fi
          printf '%s\\t%s\\t%s\\n' "$read" "\${jobs:-1}" "$archive"
          break 2
        done
      done
    done`;
  const found = output.stdout
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([bytes = '']) => /^\d+$/.test(bytes));
  const [, jobs, path] = found[0] ?? [];
  const store = stores.findIndex(({ archive }) => archive.path === path);
  const bytes = found.filter((line) => line[2] === path).map(([read]) => Number(read));
  return store !== -1 && bytes.length === Number(jobs) ? { store, bytes: sum(bytes) } : undefined;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
