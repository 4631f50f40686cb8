#!/usr/bin/env zx
// Measures how long a deployment takes to start from a physical snapshot, beside curl, zstd and
// pg_restore on the same machine (docs/data-speed.md).
import { parseArgs } from 'node:util';
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';

const { measureData } = await import('./data/measure.ts');
const { saveData } = await import('./data/page.ts');

const { values } = parseArgs({
  args: commandLine,
  options: {
    size: { type: 'string', default: '12' },
    rounds: { type: 'string', default: '1' },
    connections: { type: 'string', default: '2' },
    cores: { type: 'string', default: '0' },
    folder: { type: 'string', default: '/var/tmp/rpc-playbooks-data' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(`npm run bench:data -- [options]: starts from a physical snapshot, beside curl, zstd and pg_restore, and writes docs/data-speed.md

  --size GB         of the largest database with its indexes; 2 and 6 GB are measured before it (12)
  --rounds N        of each way (1)
  --connections N   pieces at the same time (2)
  --cores N         processors that the ways may use (all)
  --folder PATH     for its files: up to three times the size; results in it are kept until the
                    largest size is done, so that a bench that was ended goes on (/var/tmp/rpc-playbooks-data)

Needs root on Debian; installs postgresql-15, nginx-light and zstd where they are missing.`);
} else {
  const [size, rounds, connections, cores] = [
    values.size,
    values.rounds,
    values.connections,
    values.cores,
  ].map(Number);
  if (!(size && size > 0 && rounds && rounds >= 1 && connections && connections >= 1 && Number(cores) >= 0))
    throw new Error('--size, --rounds, --connections and --cores must be numbers');
  const say = (/** @type {string} */ line) => console.error(`${new Date().toISOString()} ${line}`);
  const given = { folder: values.folder, size, rounds, connections, cores: Number(cores) };
  console.log(saveData(await measureData(given, say)));
}
