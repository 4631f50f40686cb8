import { fileURLToPath } from 'node:url';
import { machine, median, putSection, spread } from '../page.ts';
import type { Measured, Sized } from './measure.ts';
import { gigabitLink } from './ways.ts';

const page = fileURLToPath(new URL('../../../docs/data-speed.md', import.meta.url));

/**
 * Writes the tables into the page.
 *
 * @returns the text
 */
export function saveData(measured: Measured): string {
  const text = [
    ways(measured),
    overLink(measured),
    costs(measured),
    serving(measured),
    footer(measured),
    computed(measured),
  ].join('\n');
  putSection('data', text, page);
  return text;
}

const seconds = (value: number) => value.toFixed(1);
const times = (value: number) => value.toFixed(2);
const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(1);
type Round = Sized['rounds'][number];

/** Seconds that a way took, or its processes on a processor, in all rounds. */
const spent = (rounds: Sized['rounds'], way: keyof Round, what: 'seconds' | 'processorSeconds' = 'seconds') =>
  spread(
    rounds.map((round) => round[way][what]),
    seconds,
  );

/** The part of the speed of the slower of both programs that ours has. */
const ofSlower = ({ curl, zstd, snapshot }: Round) => Math.max(curl.seconds, zstd.seconds) / snapshot.seconds;
const ofRestore = ({ restore, snapshot }: Round) => restore.seconds / snapshot.seconds;

function ways({ sizes }: Measured): string {
  const rows = sizes.map(({ database, pieces, take, rounds }) => {
    const ratios = [ofSlower, ofRestore].map((ratio) => spread(rounds.map(ratio), times));
    const cells = [
      spent(rounds, 'curl'),
      spent(rounds, 'zstd'),
      spent(rounds, 'snapshot'),
      ratios[0],
      spent(rounds, 'restore'),
      ratios[1],
      seconds(take),
    ];
    return `| ${gigabytes(database)} in ${gigabytes(pieces)} | ${cells.join(' | ')} |`;
  });
  return `
## Start from a snapshot

| GB, in GB of pieces | curl, s | zstd, s | snapshot, s | speed of the slower of both | pg_restore, s | times as fast as it | taken in, s |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
}

function overLink({ sizes }: Measured): string {
  const rows = sizes.map(({ database, pieces, rounds }) => {
    const ratio = rounds.map(({ linkedCurl, linkedSnapshot }) => linkedCurl.seconds / linkedSnapshot.seconds);
    const cells = [spent(rounds, 'linkedCurl'), spent(rounds, 'linkedSnapshot'), spread(ratio, times)];
    return `| ${gigabytes(database)} in ${gigabytes(pieces)} | ${cells.join(' | ')} |`;
  });
  return `
## Start from a snapshot over a link of 1 Gbit/s

| GB, in GB of pieces | curl, s | snapshot, s | speed of curl |
|---|---|---|---|
${rows.join('\n')}
`;
}

function costs({ sizes }: Measured): string {
  const rows = sizes.map(({ database, rounds }) => {
    const own = rounds.map(({ snapshot }) => snapshot);
    const cells = [
      spent(rounds, 'curl', 'processorSeconds'),
      spent(rounds, 'zstd', 'processorSeconds'),
      spent(rounds, 'snapshot', 'processorSeconds'),
      spread(
        own.map(({ processorSeconds }) => processorSeconds / (database / 1e9)),
        times,
      ),
      spread(
        own.map(({ memory }) => memory / 1e6),
        (value) => value.toFixed(0),
      ),
    ];
    return `| ${gigabytes(database)} | ${cells.join(' | ')} |`;
  });
  return `
## What unpacking takes

| GB | processor of curl, s | of zstd, s | of the snapshot, s | of the snapshot for each GB, s | most memory, MB |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
}

function serving({ serving: { quiet, apart, shared } }: Measured): string {
  const row = (name: string, { p99, answered, failed }: typeof quiet) =>
    `| ${name} | ${p99.toFixed(2)} | ${(p99 / quiet.p99).toFixed(2)} | ${answered} | ${failed} |`;
  return `
## The server while a snapshot of its replica is taken

| | 99 of 100 selects within, ms | times that of before | answered | failed |
|---|---|---|---|---|
${row('before', quiet)}
${row('while it is taken, the replica on processors of its own', apart)}
${row('while it is taken, on the same processors', shared)}
`;
}

function footer({ given, date, load }: Measured): string {
  const command = `npm run bench:data -- --size ${given.size} --rounds ${given.rounds} --connections ${given.connections}`;
  const cores = given.cores === 0 ? 'all processors' : `${given.cores} processors`;
  return `${date}, \`${command}\`, ${cores}. ${machine}, load average ${load.toFixed(1)} before.
`;
}

/** Of 1 and 10 Gbit/s. Bytes in a second. */
const links = [1, 10].map((times) => times * gigabitLink);

/**
 * A smaller run measures above all the start of a server, of which a larger one has no more. Bytes:
 * `--size 12` makes 11.7 GB.
 */
const smallestForComputing = 11e9;

/** Computed from the largest size: the slower of the link and of what was measured. */
function computed({ sizes }: Measured): string {
  const largest = sizes.at(-1);
  if (!largest || largest.database < smallestForComputing) return '';
  const { database, pieces, rounds } = largest;
  const rate = database / median(rounds.map(({ snapshot }) => snapshot.seconds));
  const restored = database / median(rounds.map(({ restore }) => restore.seconds));
  const rows = [0.1, 1, 4].map((terabytes) => {
    const size = terabytes * 1e12;
    const overLinks = links.map((bytes) => (size * (pieces / database)) / bytes);
    const cells = [...overLinks, size / rate, size / restored].map(duration);
    const ends = overLinks.map((link) => duration(Math.max(link, size / rate)));
    return `| ${terabytes < 1 ? '100 GB' : `${terabytes} TB`} | ${cells.join(' | ')} | ${ends.join(' | ')} |`;
  });
  return `
## Computed: larger databases

| Database | link of 1 Gbit/s | of 10 Gbit/s | the whole start, at the speed measured here | pg_restore, at the speed measured here | start over 1 Gbit/s | over 10 Gbit/s |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
}

function duration(total: number): string {
  if (total < 3600) return `${Math.round(total / 60)} min`;
  return total < 2 * 86_400 ? `${(total / 3600).toFixed(1)} h` : `${(total / 86_400).toFixed(1)} days`;
}
