#!/usr/bin/env zx
// Measures ways to back up a server and to recover it, with its own PostgreSQL, Barman and
// pgBackRest (docs/backup-cost.md).
import { parseArgs } from 'node:util';
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';

const { measureBackups, saveBackups } = await import('./backup.ts');

const { values } = parseArgs({
  args: commandLine,
  options: {
    megabytes: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '3' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run bench:backup -- [options]: backs a server up and recovers it, each way in turn, and writes docs/backup-cost.md

  --megabytes N    size of the database with its indexes (2000)
  --rounds N       in each of which every way has its turn (3)

Its files are in /var/tmp: about twelve times the size. Needs root on Debian; installs postgresql-15, barman and pgbackrest where they are
missing.`);
} else {
  const [megabytes, rounds] = [Number(values.megabytes), Number(values.rounds)];
  if (!(megabytes >= 1) || !(rounds >= 1))
    throw new Error('--megabytes and --rounds must be numbers from 1 on');
  // Its databases are removed first.
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stopped.abort());
  const say = (/** @type {string} */ line) => console.error(line);
  try {
    const measured = await measureBackups(megabytes, rounds, { say, stopped: stopped.signal });
    console.log(saveBackups(measured));
  } catch (error) {
    if (!stopped.signal.aborted) throw error;
    console.error('stopped; nothing is left behind');
    process.exitCode = 130;
  }
}
