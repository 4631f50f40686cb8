#!/usr/bin/env zx
// Measures ways to back up a server and to recover it, with its own PostgreSQL, Barman and
// pgBackRest (docs/backup-cost.md).
import { parseArgs } from 'node:util';
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';
import { measureStoppably } from './stoppable.mjs';

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
  await measureStoppably([values.megabytes, values.rounds], async (megabytes, rounds, how) =>
    saveBackups(await measureBackups(megabytes, rounds, how)),
  );
}
