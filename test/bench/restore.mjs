#!/usr/bin/env zx
// Measures pg_restore with one and with several jobs, and a base backup, on its own PostgreSQL
// (docs/benchmarks.md).
import { parseArgs } from 'node:util';
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';
import { measureStoppably } from './stoppable.mjs';

const { measureRestore, saveRestore } = await import('./restore.ts');

const { values } = parseArgs({
  args: commandLine,
  options: {
    megabytes: { type: 'string', default: '2000' },
    rounds: { type: 'string', default: '3' },
    folder: { type: 'string', default: '/var/tmp' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run bench:restore -- [options]: restores one archive with 1, 2 and 4 jobs, and a base backup, and writes docs/benchmarks.md

  --megabytes N    size of the database with its indexes (2000)
  --rounds N       in each of which every number of jobs has its turn (3)
  --folder PATH    where the database goes while it is measured: five times its size (/var/tmp)

Needs root on Debian; installs postgresql-15 where it is missing.`);
} else {
  await measureStoppably([values.megabytes, values.rounds], async (megabytes, rounds, how) =>
    saveRestore(await measureRestore(values.folder, megabytes, rounds, how)),
  );
}
