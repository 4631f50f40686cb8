import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { installMissing } from '../../install-missing.ts';
import { manifestOf, snapshotPrograms, workshop } from '../../kinds/physical-server.ts';
import type { Cost } from './cost.ts';
import { rowsOf, sizeOf, startFilled } from './made.ts';
import { measureServing, type Serving } from './serving.ts';
import {
  byCurl,
  byRestore,
  bySnapshot,
  byZstd,
  dump,
  gigabitLink,
  type Limits,
  serveFolder,
  type Taken,
} from './ways.ts';

/** The pieces of a deployment. Bytes. */
const piece = 512 * 1024 ** 2;

export interface Given extends Limits {
  readonly folder: string;
  /** Of the largest database. GB. */
  readonly size: number;
  readonly rounds: number;
}

/** `linked` ways fetch from a server that sends as much as a link of 1 Gbit/s carries. */
type Way = 'curl' | 'zstd' | 'snapshot' | 'restore' | 'linkedCurl' | 'linkedSnapshot';

/** What was measured of one size. */
export interface Sized {
  readonly asked: number;
  /** Bytes of both databases, and of the pieces. */
  readonly database: number;
  readonly pieces: number;
  /** Seconds to take the snapshot from the server. */
  readonly take: number;
  readonly rounds: readonly Readonly<Record<Way, Cost>>[];
}

export interface Measured {
  readonly given: Given;
  readonly sizes: readonly Sized[];
  readonly serving: Serving;
  readonly load: number;
  readonly date: string;
}

type Say = (line: string) => void;

/** Kept in the folder, so that a bench that was ended goes on. */
type Saved = Partial<Pick<Measured, 'serving'>> & { readonly sizes: readonly Sized[] };

/**
 * Measures all sizes up to the largest.
 *
 * @throws Error without enough space: the ways must leave half of what is free to others
 */
export async function measureData(given: Given, say: Say): Promise<Measured> {
  installMissing([
    ...snapshotPrograms,
    ['/usr/sbin/nginx', 'nginx-light'],
    ['/usr/lib/postgresql/15/bin/pgbench', 'postgresql-15'],
  ]);
  mkdirSync(given.folder, { recursive: true });
  chmodSync(given.folder, 0o755);
  const { bavail, bsize } = statfsSync(given.folder);
  if (bavail * bsize < 3 * given.size * 1e9)
    throw new Error(`${given.folder} has not three times ${given.size} GB free`);
  const file = join(given.folder, 'measured.json');
  const load = loadavg()[0] ?? 0;
  let saved: Saved = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { sizes: [] };
  const sizes = [...new Set([2, 6, given.size])].filter((size) => size <= given.size);
  for (const size of sizes) {
    if (saved.sizes.some(({ asked }) => asked === size)) continue;
    const wantsServing = saved.serving === undefined;
    const found = await measureSize(given, size, wantsServing, say);
    saved = {
      ...saved,
      ...(found.serving && { serving: found.serving }),
      sizes: [...saved.sizes, found.sized],
    };
    writeFileSync(file, JSON.stringify(saved));
  }
  const { serving } = saved;
  if (!serving) throw new Error(`${file} is not whole: remove it`);
  // The next bench measures all again.
  rmSync(file);
  const date = new Date().toISOString().slice(0, 10);
  return { given, sizes: saved.sizes, serving, load, date };
}

async function measureSize(given: Given, size: number, wantsServing: boolean, say: Say) {
  const folder = join(given.folder, `size-${size}`);
  execFileSync('sh', ['-c', `umount ${folder}/*/*/pieces ${folder}/*/pieces 2>/dev/null; rm -rf ${folder}`]);
  mkdirSync(folder, { mode: 0o755 });
  try {
    say(`${size} GB: filling a server`);
    const source = await startFilled(folder, size);
    const shop = workshop(folder, source);
    try {
      let taken: Taken & { readonly database: number; readonly take: number };
      let serving: Serving | undefined;
      try {
        if (wantsServing) {
          say(`${size} GB: selects while a snapshot of a replica is taken`);
          serving = await measureServing(source, join(folder, 'serving'), piece);
        }
        say(`${size} GB: taking the snapshot`);
        taken = await take(shop, source, folder);
        say(`${size} GB: dumping, ${taken.take.toFixed(1)} s for the snapshot`);
        dump(source, join(folder, 'dump'));
      } finally {
        await source.stop();
      }
      const rounds = await allWays(given, folder, taken, shop, (line) => say(`${size} GB: ${line}`));
      const pieces = taken.manifest.pieces.reduce((sum, { bytes }) => sum + bytes, 0);
      const { database, take: seconds } = taken;
      return { sized: { asked: size, database, pieces, take: seconds, rounds }, serving };
    } finally {
      shop.remove();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function take(
  shop: ReturnType<typeof workshop>,
  source: Awaited<ReturnType<typeof startFilled>>,
  parent: string,
) {
  const folder = join(parent, 'taken');
  const began = performance.now();
  const { code, said } = await shop.take(folder, { PIECE: piece }).ended;
  if (code !== 0) throw new Error(said);
  const seconds = (performance.now() - began) / 1000;
  const manifest = manifestOf(folder);
  for (const { file, bytes } of manifest.pieces)
    if (statSync(join(folder, file)).size !== bytes) throw new Error(`${file} is not whole`);
  return { folder, manifest, rows: rowsOf(source), database: sizeOf(source), take: seconds, url: '' };
}

/** Each way in turn, so many times. */
async function allWays(
  given: Given,
  folder: string,
  without: Taken,
  shop: ReturnType<typeof workshop>,
  say: Say,
): Promise<Sized['rounds']> {
  const target = join(folder, 'target');
  const rounds: Sized['rounds'][number][] = [];
  const fetches = async (rate: number) => {
    const server = await serveFolder(without.folder, folder, rate);
    const taken = { ...without, url: server.url };
    try {
      const curl = await byCurl(taken, target, given);
      say(`curl ${curl.seconds.toFixed(1)} s`);
      const snapshot = await bySnapshot(shop, taken, target, given);
      say(
        `snapshot ${snapshot.seconds.toFixed(1)} s, ${snapshot.processorSeconds.toFixed(1)} s of a processor`,
      );
      return { curl, snapshot };
    } finally {
      await server.stop();
    }
  };
  for (let round = 0; round < given.rounds; round += 1) {
    const { curl, snapshot } = await fetches(0);
    const linked = await fetches(gigabitLink / given.connections);
    const zstd = await byZstd(without, target, given);
    say(`zstd ${zstd.seconds.toFixed(1)} s`);
    const restore = await byRestore(folder, join(folder, 'dump'), without.rows);
    say(`pg_restore ${restore.seconds.toFixed(1)} s`);
    rounds.push({
      curl,
      zstd,
      snapshot,
      restore,
      linkedCurl: linked.curl,
      linkedSnapshot: linked.snapshot,
    });
  }
  return rounds;
}
