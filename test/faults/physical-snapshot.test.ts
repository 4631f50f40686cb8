import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Served } from '../kinds/faulty-file-server.ts';
import { foreignPiece } from '../kinds/foreign-piece.ts';
import { type SnapshotBench, snapshotBench } from '../kinds/physical-bench.ts';
import { measured } from './measured.ts';

// Faults of physical snapshots, with real servers of PostgreSQL 15.

const { bench, content, serve, unpack, middlePiece, middle, expectWhole } = snapshotBench();

const whole = (folder: string) => existsSync(join(folder, 'manifest.json'));

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
  ])('%s: named, nothing is in the data directory, and the next run ends it', async (_, breaks, words) => {
    breaks();
    const { code, said } = await unpack().ended;
    expect([code, said]).toEqual([1, expect.stringMatching(words)]);
    expect(existsSync(bench.data)).toBe(false);
    expect(existsSync(join(bench.shop.base, 'passwords'))).toBe(false);
    expect(existsSync(`${bench.data}.rpc-node-copy/pieces`)).toBe(false);
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
    const sleep = join(bench.shop.base, 'sleep');
    writeFileSync(sleep, '#!/bin/sh\nexec /usr/bin/sleep 0.01\n', { mode: 0o755 });
    serve(middle(), { rate: 1000 });
    const { code, said } = await unpack().ended;
    rmSync(sleep);
    expect([code, said]).toEqual([1, expect.stringMatching(/breaks off at \d+ of \d+ bytes: .*too slow/)]);
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
