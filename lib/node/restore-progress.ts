import type { Progress, Reader } from '../host/host.ts';
import { sqlLiteral } from '../resource/postgres.ts';
import type { Store } from './restored.ts';

/**
 * How far a restore is: what is being copied or indexed, and how much of both archives was read. What is read is seen from the
 * kernel, by the offset at which pg_restore has an archive open: it does not say itself, and how large the databases become is not
 * known. The host sees the processes of containers, too.
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
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  if (!read) return { what };
  return { what, done: sum(sizes.slice(0, read.store)) + read.offset, total: sum(sizes), unit: 'bytes' };
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

/** @returns which of the archives is open, and at what offset; undefined where pg_restore does not run, or only lists one */
async function bytesRead(
  host: Reader,
  stores: readonly Store[],
): Promise<{ store: number; offset: number } | undefined> {
  // A process may end between two looks at it: that is no error.
  const output = await host.$`
    for pid in $(pgrep -x pg_restore); do
      tr '\\0' '\\n' </proc/$pid/cmdline 2>/dev/null | grep -q -x -e --list && continue
      for archive in ${stores.map(({ archive }) => archive.path)}; do
        for file in /proc/$pid/fd/*; do
          [ "$file" -ef "$archive" ] || continue
          printf '%s\\t%s\\n' "$(sed -n 's/^pos:[[:space:]]*//p' "/proc/$pid/fdinfo/\${file##*/}")" "$archive"
          exit
        done
      done
    done`;
  const [offset = '', path] = output.stdout.trim().split('\t');
  const store = stores.findIndex(({ archive }) => archive.path === path);
  return store !== -1 && /^\d+$/.test(offset) ? { store, offset: Number(offset) } : undefined;
}
