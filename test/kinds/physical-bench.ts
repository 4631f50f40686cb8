import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { PhysicalManifest } from '../../lib/node/variables/manifest.ts';
import { type Storage, signing, webAddress } from '../../lib/node/variables/s3.ts';
import { installMissing } from '../install-missing.ts';
import type { Postgres } from '../postgres.ts';
import { type Served, startFaultyFileServer } from './faulty-file-server.ts';
import { manifestOf, snapshotPrograms, startSource, startUnpacked, workshop } from './physical-server.ts';

/**
 * A physical snapshot of a real server of PostgreSQL 15, a server of its pieces with faults, and a
 * new data directory for each test of a file.
 */
export interface SnapshotBench {
  readonly parent: string;
  readonly source: Postgres;
  readonly server: Awaited<ReturnType<typeof startFaultyFileServer>>;
  readonly shop: ReturnType<typeof workshop>;
  readonly manifest: PhysicalManifest;
  /** The folder of the snapshot. */
  readonly taken: string;
  /** The data directory to unpack into. */
  data: string;
}

const blocks = 'select count(*), md5(string_agg(block_hash, $$,$$ order by block_num)) from state.l2block';

/** Makes the bench before the tests of a file, and removes it after them. */
export function snapshotBench() {
  const bench = {} as { -readonly [K in keyof SnapshotBench]: SnapshotBench[K] };
  beforeAll(async () => {
    installMissing(snapshotPrograms);
    bench.parent = mkdtempSync('/var/tmp/physical-');
    // In memory: the tests write whole servers again and again.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1500m,mode=711', 'tmpfs', bench.parent]);
    bench.source = await startSource(bench.parent);
    bench.shop = workshop(bench.parent, bench.source);
    bench.taken = join(bench.shop.base, 'taken');
    const { code, said } = await bench.shop.take(bench.taken).ended;
    expect([code, said]).toEqual([0, `the snapshot is in ${bench.taken}\n`]);
    bench.manifest = manifestOf(bench.taken);
  });
  beforeEach(async () => {
    bench.server = await startFaultyFileServer();
    for (const { file } of bench.manifest.pieces) serve(file);
    bench.data = join(mkdtempSync(join(bench.shop.base, 'data-')), 'state-db');
  });
  afterEach(() => {
    bench.server.stop();
    bench.shop.stopContainers();
    rmSync(dirname(bench.data), { recursive: true, force: true });
  });
  afterAll(async () => {
    bench.shop.remove();
    await bench.source.stop();
    spawnSync('umount', ['--lazy', bench.parent]);
    rmSync(bench.parent, { recursive: true, force: true });
  });

  const content = (file: string) => readFileSync(join(bench.taken, file));
  function serve(file: string, how: Partial<Served> = {}): void {
    bench.server.serve(`/s/${file}`, { content: content(file), ...how });
  }
  const unpack = (more: Readonly<Record<string, string | number>> = {}) =>
    bench.shop.unpack(bench.server.url('/s/'), bench.data, bench.manifest, more);
  /** The piece in the middle of the tar stream, which has parts of files at both ends. */
  function middlePiece() {
    const pieces = bench.manifest.pieces.filter(({ file }) => file.includes('.tar'));
    const piece = pieces[Math.floor(pieces.length / 2)];
    if (!piece) throw new Error('the snapshot has no pieces');
    return piece;
  }
  const middle = () => middlePiece().file;
  /** What the unpacked server holds is what the source held. */
  async function expectWhole(): Promise<void> {
    const { parent, data, source } = bench;
    const copy = await startUnpacked(parent, data);
    try {
      expect(copy.sql('new_state_db', blocks)).toBe(source.sql('source_state', blocks));
      const hashes = 'select count(*), md5(string_agg(data, $$,$$ order by hash)) from state.nodes';
      expect(copy.sql('source_state', hashes)).toBe(source.sql('source_hashes', hashes));
      expect(
        copy.sql('new_state_db', 'select rolname from pg_roles where oid >= 16384 or oid = 10 order by 1'),
      ).toBe('new_prover\nnew_state');
    } finally {
      await copy.stop();
    }
  }
  /** Unpacks from folder `today` of a storage, with the keys of an account. */
  function unpackStored(account: Storage) {
    const keys = join(bench.shop.base, 'keys');
    writeFileSync(keys, signing(account).reveal(), { mode: 0o600 });
    const url = webAddress('s3://snapshots/today/', account);
    return bench.shop.unpack(url, bench.data, bench.manifest, {
      SHOWN: 's3://snapshots/today/',
      KEYS: keys,
    });
  }
  return { bench, content, serve, unpack, unpackStored, middlePiece, middle, expectWhole };
}
