import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../../lib/engine/secret/secret.ts';
import type { Storage } from '../../lib/node/variables/s3.ts';
import { installMissing } from '../install-missing.ts';
import type { Served } from '../kinds/faulty-file-server.ts';
import { foreignPiece } from '../kinds/foreign-piece.ts';
import { type SnapshotBench, snapshotBench } from '../kinds/physical-bench.ts';
import { getStorageServer, startStorage } from '../storage-server.ts';
import { measured } from './measured.ts';

// Faults of physical snapshots, with real servers of PostgreSQL 15.

const { bench, content, serve, unpack, unpackStored, middlePiece, middle, expectWhole } = snapshotBench();

const whole = (folder: string) => existsSync(join(folder, 'manifest.json'));

/** The copy on its way to the data directory. */
const copy = () => `${bench.data}.rpc-node-copy`;

/**
 * A program of the host goes before the real one.
 *
 * @returns removes it
 */
function standIn(name: string, script: string): () => void {
  const path = join(bench.shop.base, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return () => rmSync(path);
}

/** A host that does not wait between two attempts. */
const withoutPauses = () => standIn('sleep', 'exec /usr/bin/sleep 0.01');

/** A docker that kills the whole run at its command of some number. */
function killedAtCommands() {
  const [program, real, left] = ['docker', 'docker.real', 'left'].map((name) =>
    join(bench.shop.base, name),
  ) as [string, string, string];
  renameSync(program, real);
  const text = `#!/bin/sh
(flock 9; n=$(($(cat ${left}) - 1)); echo $n >${left}; [ $n != 0 ] || kill -KILL 0) 9>${left}.lock
exec ${real} "$@"\n`;
  writeFileSync(program, text, { mode: 0o755 });
  writeFileSync(left, '-1');
  return {
    at: (number: number) => writeFileSync(left, String(number)),
    end() {
      rmSync(program);
      renameSync(real, program);
    },
  };
}

describe('A physical snapshot: a run is killed', () => {
  test('while the server is copied: nothing looks whole, and the next run starts over', async () => {
    const folder = join(bench.shop.base, 'killed');
    const first = bench.shop.take(folder);
    while (!existsSync(join(folder, '.part/piece-000001.tar.zst'))) await delay(5);
    first.kill('SIGKILL');
    await first.ended;
    expect(whole(folder)).toBe(false);
    expect((await bench.shop.take(folder).ended).code).toBe(0);
    expect(whole(folder)).toBe(true);
    rmSync(folder, { recursive: true });
  });

  test('while pieces are fetched: those that are unpacked are not fetched again', async () => {
    serve(middle(), { rate: 1000 });
    const first = unpack({ CONNECTIONS: 1 });
    while (bench.server.asked(`/s/${middle()}`).length === 0) await delay(20);
    first.kill('SIGKILL');
    await first.ended;
    expect(existsSync(bench.data)).toBe(false);
    serve(middle());
    const before = bench.manifest.pieces.map(({ file }) => bench.server.asked(`/s/${file}`).length);
    const { said } = await unpack({ CONNECTIONS: 1 }).ended;
    expect(said).toContain('the snapshot is in its place');
    const again = bench.manifest.pieces.filter(
      ({ file }, at) => before[at] === 1 && bench.server.asked(`/s/${file}`).length > 1,
    );
    // One was on its way, and one was being unpacked.
    expect(again.length).toBeLessThanOrEqual(2);
    await expectWhole();
  });

  test('at every command of a container, one after the other: each run goes on, and the last one ends it', async ({
    task,
  }) => {
    const kill = killedAtCommands();
    let runs = 0;
    try {
      for (let at = 1; !existsSync(bench.data); at += 1) {
        kill.at(at);
        await unpack().ended;
        bench.shop.stopContainers();
        runs = at;
      }
    } finally {
      kill.end();
    }
    expect(runs).toBeGreaterThan(10);
    const { said } = await unpack().ended;
    expect(said).toContain('holds data');
    await expectWhole();
    measured(task, `${runs} runs, the data directory was absent until the last one`);
  });

  test('while a snapshot is taken, at every command of a container: nothing looks whole', async ({
    task,
  }) => {
    const kill = killedAtCommands();
    const folder = join(bench.shop.base, 'killed-at-each');
    let runs = 0;
    try {
      for (let at = 1; !whole(folder); at += 1) {
        kill.at(at);
        const { code } = await bench.shop.take(folder).ended;
        // Its last commands clean up: then it is whole, and killed all the same.
        if (code === 0) expect(whole(folder)).toBe(true);
        runs = at;
      }
    } finally {
      kill.end();
    }
    expect(runs).toBeGreaterThan(4);
    const { pieces } = JSON.parse(
      readFileSync(join(folder, 'manifest.json'), 'utf8'),
    ) as SnapshotBench['manifest'];
    for (const { file, bytes } of pieces) expect(statSync(join(folder, file)).size).toBe(bytes);
    const slots = () => bench.source.sql('postgres', 'select slot_name from pg_replication_slots');
    await expect.poll(slots, { timeout: 20_000 }).toBe('rpc_node_replica_1');
    rmSync(folder, { recursive: true });
    measured(task, `${runs} runs, none left a slot or a manifest behind`);
  });

  test.each([
    ['when the last piece is unpacked', /all pieces are unpacked/, 0],
    ['while roles get their names', /all pieces are unpacked/, 3500],
    ['a moment later', /all pieces are unpacked/, 4500],
  ])('%s: the next run ends it', async (_, words, milliseconds) => {
    const first = unpack();
    await first.says(words);
    await delay(milliseconds);
    first.kill('SIGKILL');
    await first.ended;
    const { said } = await unpack().ended;
    if (!said.includes('holds data')) expect(said).toContain('the snapshot is in its place');
    await expectWhole();
  });
});

describe('A physical snapshot: something else happens after a run that was killed', () => {
  /** Kills a run when the server of the copy has started. */
  async function killedLate(): Promise<void> {
    const first = unpack();
    await first.says(/all pieces are unpacked/);
    while (!existsSync(join(copy(), 'data/postmaster.pid'))) await delay(5);
    first.kill('SIGKILL');
    await first.ended;
    bench.shop.stopContainers();
  }
  const fetched = () => bench.manifest.pieces.map(({ file }) => bench.server.asked(`/s/${file}`).length);
  const once = () => bench.manifest.pieces.map(() => 1);

  test('the machine restarts: no piece is unpacked over files that a server has changed', async () => {
    const notes = join(bench.shop.base, 'synced');
    const endNotes = standIn('sync', `ls "$2/done" | wc -l >>${notes}\nexec /usr/bin/sync "$@"`);
    await killedLate();
    endNotes();
    // The notes were on the disk before the server started.
    expect(readFileSync(notes, 'utf8').trim().split('\n').at(-1)).toBe('0');
    const end = standIn('cat', 'case "$*" in */boot_id) echo another ;; *) exec /usr/bin/cat "$@" ;; esac');
    const { said } = await unpack().ended;
    end();
    expect(said).toContain('the snapshot is in its place');
    expect(fetched()).toEqual(once());
    await expectWhole();
  });

  test('a recovery begins at the same place: no piece counts whose files it has removed', async () => {
    await killedLate();
    for (const { file } of bench.manifest.pieces)
      writeFileSync(join(copy(), 'kept', String(Number(/\d+/.exec(file)?.[0]) + 1)), '');
    // As the version before did it.
    for (const name of ['data', 'done']) rmSync(join(copy(), name), { recursive: true });
    for (const name of ['data', 'lists']) mkdirSync(join(copy(), name));
    const { said } = await unpack().ended;
    expect(said).toContain('the snapshot is in its place');
    await expectWhole();
  });

  test('the database is removed, and what was killed had just put it into its place: all is fetched again', async () => {
    const end = standIn('mv', '/usr/bin/mv "$@"; case "$1" in *copy/data) kill -KILL 0 ;; esac');
    expect((await unpack().ended).code).toBe(null);
    end();
    bench.shop.stopContainers();
    expect(existsSync(join(bench.data, 'PG_VERSION'))).toBe(true);
    rmSync(bench.data, { recursive: true });
    expect((await unpack().ended).said).toContain('the snapshot is in its place');
    await expectWhole();
  });
});

describe('A physical snapshot: a server of pieces goes wrong', () => {
  test.each<[string, () => void, RegExp]>([
    [
      'a wrong piece',
      () => serve(middle(), { content: content(bench.manifest.pieces[0]?.file ?? '') }),
      /piece-\d{6}\.tar\.zst (is corrupted, or not the piece|is longer than|ends after)/,
    ],
    [
      'a piece with a changed byte',
      () => {
        const changed = content(middle());
        changed.writeUInt8(changed.readUInt8(2000) ^ 1, 2000);
        serve(middle(), { content: changed });
      },
      /is corrupted, or not the piece that the manifest names: SHA-256 [0-9a-f]{64}, wanted/,
    ],
    ['a missing piece', () => serve(middle(), { failing: { status: 404, times: 9 } }), /answers 404/],
    ['a forbidden piece', () => serve(middle(), { failing: { status: 403, times: 9 } }), /answers 403/],
  ])('%s: named, nothing is in the data directory, and the next run ends it', async (_, breaks, words) => {
    breaks();
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([1, expect.stringMatching(words)]);
    expect(existsSync(bench.data)).toBe(false);
    expect(existsSync(join(bench.shop.base, 'passwords'))).toBe(false);
    expect(existsSync(join(copy(), 'pieces'))).toBe(false);
    serve(middle());
    expect((await unpack().ended).code).toBe(0);
    await expectWhole();
  });

  test('foreign files in a wrong piece are never in the data directory, also when the right piece follows', async () => {
    serve(middle(), { content: foreignPiece(middlePiece(), 'global/foreign') });
    const run = unpack();
    while (bench.server.asked(`/s/${middle()}`).length === 0) await delay(5);
    serve(middle());
    expect((await run.ended).said).toContain('the snapshot is in its place');
    expect(bench.server.asked(`/s/${middle()}`)).toHaveLength(2);
    expect(existsSync(join(bench.data, 'global/foreign'))).toBe(false);
    await expectWhole();
  });

  test('a piece without an end does not fill the disk', async () => {
    serve(middle(), { content: Buffer.alloc(100 * 1024 * 1024), withoutSize: true });
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([1, expect.stringContaining(`${middle()} is longer than the`)]);
    expect(bench.server.sent(`/s/${middle()}`)).toBeLessThan(50 * 1024 * 1024);
  });

  test('one that sends a few bytes each second is given up', async () => {
    bench.shop.impatient();
    const end = withoutPauses();
    serve(middle(), { rate: 1000 });
    const { code, said } = await unpack().ended;
    end();
    expect([code, said]).toEqual([1, expect.stringMatching(/breaks off at \d+ of \d+ bytes: .*too slow/)]);
  });

  test('one that stays busy is given up', async () => {
    const end = withoutPauses();
    serve(middle(), { failing: { status: 503, times: 1000 } });
    const { code, said } = await unpack().ended;
    end();
    expect([code, said]).toEqual([1, expect.stringMatching(/breaks off at 0 of \d+ bytes: .*\(HTTP 503\)/)]);
    expect(bench.server.asked(`/s/${middle()}`)).toHaveLength(10);
  });

  test('one without ranges that resets connections: the piece starts over', async () => {
    bench.shop.impatient();
    serve(middle(), { withoutRanges: true, breaking: { times: 2, how: 'reset' } });
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([0, expect.stringContaining('the snapshot is in its place')]);
    await expectWhole();
  });

  test.each<[string, Partial<Served>]>([
    ['that resets connections', { breaking: { times: 3, how: 'reset' } }],
    ['that stalls', { breaking: { times: 1, how: 'silence' } }],
    ['that is busy', { failing: { status: 503, times: 2 } }],
  ])('one %s: the piece goes on where it was', async (_, how) => {
    bench.shop.impatient();
    serve(middle(), how);
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([0, expect.stringContaining('the snapshot is in its place')]);
    await expectWhole();
  });
});

describe('A physical snapshot: a storage of pieces goes wrong', () => {
  let server: Awaited<ReturnType<typeof startStorage>>;

  beforeAll(async () => {
    installMissing([['/usr/bin/faketime', 'faketime']]);
    await getStorageServer();
    server = await startStorage();
    execFileSync('cp', ['-r', bench.taken, join(server.bucket, 'today')]);
  });
  afterAll(() => server.remove());

  /** Shifts the clock of curl, and of what says how far it is off. */
  function shiftClock() {
    const ends = ['curl', 'date'].map((program) =>
      standIn(program, `exec /usr/bin/faketime -f -40m /usr/bin/${program} "$@"`),
    );
    return () => ends.forEach((end) => void end());
  }

  function moveBucket() {
    renameSync(server.bucket, `${server.bucket}-away`);
    return () => renameSync(`${server.bucket}-away`, server.bucket);
  }

  async function stop() {
    const end = withoutPauses();
    await server.stop();
    return async () => {
      end();
      await server.start();
    };
  }

  const nothing = () => () => {};

  test.each<[string, () => (() => unknown) | Promise<() => unknown>, Partial<Storage>, RegExp]>([
    [
      'an unknown access key',
      nothing,
      { access_key: new Secret('AKIAOTHER') },
      /the storage does not know the access key: correct snapshot\.s3\.access_key/,
    ],
    [
      'another secret key',
      nothing,
      { secret_key: new Secret('other.Key~1') },
      /the secret key is not that of the access key: correct snapshot\.s3\.secret_key/,
    ],
    [
      'a clock that is off',
      shiftClock,
      {},
      /the clock of \S+ is (39|40) minutes behind that of the storage, which then accepts no signature/,
    ],
    ['a bucket that is away', moveBucket, {}, /there is no such bucket: correct its name, or make it/],
    ['a storage that is away', stop, {}, /breaks off at 0 of \d+ bytes: Failed to connect .*\(HTTP 000\)/],
  ])(
    '%s: named, nothing is in the data directory, and the next run ends it',
    async (_, breaks, own, words) => {
      const mend = await breaks();
      const { code, said } = await unpackStored(server.storage(own)).ended;
      await mend();
      expect([code, said]).toEqual([1, expect.stringMatching(words)]);
      const left = [bench.data, join(bench.shop.base, 'keys'), join(copy(), 'pieces')];
      expect(left.map((path) => existsSync(path))).toEqual([false, false, false]);
      expect((await unpackStored(server.storage()).ended).code).toBe(0);
      await expectWhole();
    },
  );
});

describe('A physical snapshot: a folder of pieces goes wrong', () => {
  const folder = () => join(bench.shop.base, 'a-folder');
  const piece = () => join(folder(), middle());
  const unpackHere = () =>
    unpack({ URL: `file://${folder()}/`, SHOWN: `file://${folder()}/`, CONNECTIONS: 2 }).ended;
  beforeEach(() => cpSync(bench.taken, folder(), { recursive: true }));
  afterEach(() => rmSync(folder(), { recursive: true }));

  test('nothing goes wrong: the server is whole, and the pieces stay', async () => {
    expect((await unpackHere()).code).toBe(0);
    await expectWhole();
    expect(readdirSync(folder())).toEqual(readdirSync(bench.taken));
  });

  test.each<[string, () => void, string]>([
    ['a piece is missing', () => rmSync(piece()), 'cannot be read: it is not there'],
    ['a piece is cut', () => truncateSync(piece(), 1000), 'has 1000 bytes, and has to have more'],
    [
      'a piece has changed',
      () => writeFileSync(piece(), Buffer.alloc(middlePiece().bytes)),
      'is corrupted, or not the piece that the manifest names',
    ],
  ])('%s: named, and the next run goes on with the right one', async (_, break_, words) => {
    break_();
    const { code, said } = await unpackHere();
    expect([code, said]).toEqual([1, expect.stringContaining(`file://${piece()} ${words}`)]);
    expect(existsSync(bench.data)).toBe(false);
    cpSync(join(bench.taken, middle()), piece());
    expect((await unpackHere()).code).toBe(0);
    await expectWhole();
  });
});

describe('A physical snapshot: the host goes wrong', () => {
  test('a disk that fills up is named, and the next run goes on', async () => {
    const small = join(bench.shop.base, 'small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=40m,mode=755', 'tmpfs', small]);
    try {
      bench.data = join(small, 'state-db');
      const { code, said } = await unpack().ended;
      expect([code, said]).toEqual([1, expect.stringContaining('there is no room in')]);
      expect(existsSync(bench.data)).toBe(false);
      execFileSync('mount', ['-o', 'remount,size=300m', small]);
      expect((await unpack().ended).code).toBe(0);
      await expectWhole();
    } finally {
      bench.shop.stopContainers();
      spawnSync('umount', [small]);
    }
  });

  test('a piece that is not unpacked to its end is not taken for done', async () => {
    // A part of one file alone: there is no tar stream that ends too early.
    const { file = '' } = bench.manifest.pieces.find(({ raw, first }) => first?.bytes === raw) ?? {};
    const zstd = join(bench.shop.base, 'zstd');
    const cut = `cat >"$0.in.$$"
    if cmp -s "$0.in.$$" ${join(bench.taken, file)}; then /usr/bin/zstd "$@" <"$0.in.$$" | head -c 1000000; exit 1; fi
    exec /usr/bin/zstd "$@" <"$0.in.$$"`;
    writeFileSync(zstd, `#!/bin/sh\n${cut}\n`, { mode: 0o755 });
    const { code, said } = await unpack({ CONNECTIONS: 1 }).ended;
    rmSync(zstd);
    expect([code, said]).toEqual([1, expect.stringContaining(`${file} cannot be unpacked`)]);
    expect((await unpack().ended).code).toBe(0);
    await expectWhole();
  });

  test('other data is never touched', async () => {
    mkdirSync(bench.data);
    writeFileSync(join(bench.data, 'PG_VERSION'), '15');
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([1, `${bench.data} holds data\n`]);
    expect(readdirSync(bench.data)).toEqual(['PG_VERSION']);
    expect(existsSync(join(bench.shop.base, 'passwords'))).toBe(false);
  });

  test('a snapshot without the block of its manifest is not put in place', async () => {
    const { code, said } = await unpack({ HASH: `0x${'f'.repeat(64)}` }).ended;
    expect([code, said]).toEqual([
      1,
      expect.stringContaining('has not block 40000 of its manifest: its hash is 0x'),
    ]);
    expect(existsSync(bench.data)).toBe(false);
  });
});
