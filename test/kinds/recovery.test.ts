import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeVerdict } from '../../lib/engine/resource/resource.ts';
import { noReceiverIsLeft } from '../../lib/node/backup/receiver.ts';
import { localHost } from '../../lib/node/testing/local-host.ts';
import { inAllForms, inEveryForm } from '../faults/seed.ts';
import { type Repository, startRepository } from './backup-repository.ts';

// Base backups and recoveries with the real PostgreSQL 15, Barman and rsync.

let host: Repository;
/** Bytes of a piece of a base backup: the deployment's own only where all forms are tried, as they take long. */
const pieceSize = (inEveryForm ? 256 : 16) * 2 ** 20;
/** Of 700 bytes each: more than one piece. */
const rows = Math.ceil(pieceSize / 700);

beforeAll(async () => {
  host = await startRepository({}, pieceSize);
  host.source.sql(
    'state_db',
    `create schema state; create table state.l2block (block_num bigint primary key, block_hash text);
     create table filler (n bigint primary key, text text);
     insert into filler select n, encode(sha256(n::text::bytea), 'hex') || repeat(md5(n::text), 20) from generate_series(1, ${rows}) n;`,
  );
  host.source.sql('prover_db', 'create schema state; create table state.nodes as select 1 as n');
  addBlocks(1000);
});
afterAll(() => host.end());
afterEach(() => {
  spawnSync('umount', [`${host.data}.rpc-node-copy/pieces`], { stdio: 'ignore' });
  for (const name of [host.data, `${host.data}.rpc-node-copy`])
    rmSync(name, { recursive: true, force: true });
});

function addBlocks(count: number): void {
  host.source.sql(
    'state_db',
    `insert into state.l2block select n, md5(n::text) from generate_series((select coalesce(max(block_num), 0) + 1 from state.l2block),
     (select coalesce(max(block_num), 0) + ${count} from state.l2block)) n`,
  );
}
const blocks = () => host.source.sql('state_db', blocksOf);
const blocksOf =
  "select count(*) || ' ' || md5(string_agg(block_hash, '' order by block_num)) from state.l2block";

/** Offers a recovery where pg_verifybackup is killed, as where memory runs out. */
function offeredWithKilledVerification() {
  const programs = join(host.folder, '15/bin');
  mkdirSync(programs, { recursive: true });
  writeFileSync(join(programs, 'pg_verifybackup'), '#!/bin/sh\nkill -9 $$\n', { mode: 0o755 });
  const settings = join(host.folder, 'recovery.conf');
  const before = readFileSync(settings, 'utf8');
  appendFileSync(settings, `\nPROGRAMS=${programs}\n`);
  try {
    return host.offerRecovery('latest');
  } finally {
    writeFileSync(settings, before);
  }
}

/** A folder with a program df that says so. */
function diskWith(line: string): string {
  const folder = join(host.folder, 'disk');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'df'), `#!/bin/sh\necho '${line}'\n`, { mode: 0o755 });
  return folder;
}

/** The folder of the newest base backup. */
const newest = () => {
  const ids = readdirSync(join(host.repository, 'base')).sort();
  return join(host.repository, 'base', ids.at(-1) ?? '', 'data');
};

async function recovered(time: string): Promise<string> {
  const offered = host.offerRecovery(time);
  expect(offered, offered.said).toMatchObject({ code: 0 });
  const received = await host.receive(time);
  expect(received, received.said).toMatchObject({ code: 0 });
  const server = await host.start();
  try {
    expect(server.sql('state_db', 'select count(*) from filler where n % 7 = 0')).toBe(
      String(Math.floor(rows / 7)),
    );
    return server.sql('state_db', blocksOf);
  } finally {
    await server.stop();
  }
}

test('a base backup is compressed pieces of whole files, and none of it is kept twice', async () => {
  const made = host.makeBackup();
  expect(made, made.said).toMatchObject({ code: 0 });
  const data = newest();
  const pieces = readdirSync(join(data, 'pieces')).filter((name) => name.startsWith('piece-'));
  expect(pieces.length).toBeGreaterThan(1);
  expect(existsSync(join(data, 'base.tar.zst'))).toBe(false);
  // By hand, without a program of ours.
  const folder = join(host.folder, 'by-hand');
  execFileSync('sh', [
    '-c',
    `mkdir "$2"; for each in "$1"/piece-*; do tar --zstd -xf "$each" -C "$2"; done`,
    'sh',
    join(data, 'pieces'),
    folder,
  ]);
  execFileSync('/usr/lib/postgresql/15/bin/pg_verifybackup', [
    '-n',
    '-q',
    '-m',
    join(data, 'backup_manifest'),
    folder,
  ]);
  rmSync(folder, { recursive: true });
});

test('a server is as it was at the end of all that arrived, and what is offered takes no room', async () => {
  addBlocks(500);
  const expected = blocks();
  await host.untilReceived();
  expect(await recovered('latest')).toBe(expected);
  for (const name of readdirSync(join(host.offer, 'base')))
    expect(statSync(join(host.offer, 'base', name)).nlink).toBe(2);
  expect(existsSync(`${host.data}.rpc-node-copy`)).toBe(false);
});

test('what the databases wrote until they were stopped is offered, too, and nothing is read twice', async () => {
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
  addBlocks(20);
  host.source.sql('postgres', 'select pg_switch_wal()');
  addBlocks(20);
  await host.untilReceived();
  const folder = join(host.folder, 'counts');
  mkdirSync(folder);
  writeFileSync(
    join(folder, 'sha256sum'),
    `#!/bin/sh\ncase "$*" in *--check*) echo x >>${folder}/read ;; esac\nexec /usr/bin/sha256sum "$@"\n`,
    { mode: 0o755 },
  );
  writeFileSync(join(folder, 'read'), '', { mode: 0o666 });
  execFileSync('chmod', ['666', join(folder, 'read')]);
  const renewed = host.renewRecovery(folder);
  expect(renewed, renewed.said).toMatchObject({ code: 0 });
  expect(readFileSync(join(folder, 'read'), 'utf8')).toBe('');
  expect(await host.receive('latest')).toMatchObject({ code: 0 });
  const server = await host.start();
  expect(server.sql('state_db', blocksOf)).toBe(blocks());
  await server.stop();
});

test('a server is as it was at a time, whatever was written after it', async () => {
  addBlocks(10);
  const expected = blocks();
  await delay(1500);
  const time = host.source.sql(
    'postgres',
    `select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`,
  );
  await delay(1500);
  addBlocks(10);
  host.source.sql('postgres', 'select pg_switch_wal()');
  addBlocks(10);
  await host.untilReceived();
  expect(await recovered(time)).toBe(expected);
});

test('a recovery that is killed goes on, and fetches no piece again that is unpacked', async () => {
  await host.untilReceived();
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
  const first = 'piece-000001.tar.zst';
  expect((await host.receive('latest', { killedAt: 'lists/items' })).code).toBe(null);
  expect((await host.receive('latest', { killedAt: `held/${first}` })).code).toBe(null);
  expect((await host.receive('latest', { killedAt: `done/${first}` })).code).toBe(null);
  expect(existsSync(host.data)).toBe(false);
  const sent = host.timesSent(first);
  const last = await host.receive('latest');
  expect(last, last.said).toMatchObject({ code: 0 });
  expect(sent).toBeGreaterThan(0);
  expect(host.timesSent(first)).toBe(sent);
  expect(existsSync(`${host.data}.rpc-node-copy`)).toBe(false);
  // A synchronizer that starts after it is known by its age.
  const [mark, offered] = [host.data, host.offer].map((each) => statSync(join(each, 'rpc-node-recovered')));
  expect(mark?.mtimeMs).toBeGreaterThan(offered?.ctimeMs ?? 0);
  const server = await host.start();
  expect(server.sql('state_db', blocksOf)).toBe(blocks());
  await server.stop();
});

inAllForms('what is at its place is used for a recovery only if it is of the recovery', async () => {
  const copy = `${host.data}.rpc-node-copy`;
  // Of a snapshot whose unpacking was killed.
  for (const name of ['data', 'kept', 'pieces']) mkdirSync(join(copy, name), { recursive: true });
  for (const name of ['of', 'kept/1', 'data/PG_VERSION']) writeFileSync(join(copy, name), '15\n');
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', join(copy, 'pieces')]);
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
  expect((await host.receive('latest', { killedAt: 'lists/items' })).code).toBe(null);
  for (const name of ['of', 'kept', 'pieces', 'data/PG_VERSION'])
    expect([name, existsSync(join(copy, name))]).toEqual([name, false]);
  // Its files went into their place, and the notes of them stayed.
  expect((await host.receive('latest', { killedAt: 'done/piece-000001.tar.zst' })).code).toBe(null);
  rmSync(join(copy, 'data'), { recursive: true });
  const last = await host.receive('latest');
  expect(last, last.said).toMatchObject({ code: 0 });
  const server = await host.start();
  expect(server.sql('state_db', blocksOf)).toBe(blocks());
  await server.stop();
});

test('a drill passes when the blocks are those of the running database, and leaves nothing', () => {
  const passed = host.drill();
  expect(passed.said).toMatch(
    /^PASS: \d+ blocks up to \d+ match the running database, from base backup \w+$/m,
  );
  expect(passed.code).toBe(0);
  expect(existsSync('/run/rpc-node-drill/PG_VERSION')).toBe(false);
  expect(readdirSync(join(host.repository, '..'))).toEqual(
    expect.not.arrayContaining(['drill', 'drill.offer']),
  );
});

test('a drill that the backup host has no room for is refused before it copies anything', () => {
  const { code, said } = host.drill(diskWith('disk 9000000 8000000 1000000 89% /'));
  expect(code).toBe(1);
  expect(said).toMatch(/^there is no room for the recovery in .*: it takes \d+ MB, and 1 MB are free$/m);
  expect(readdirSync(join(host.repository, '..'))).not.toContain('drill');
});

test('what is wrong with the backup or its log is known before the server is touched', () => {
  const pieces = join(newest(), 'pieces');
  const piece = join(pieces, 'piece-000001.tar.zst');
  // In the middle: a segment with hardly anything in it is compressed to some hundred bytes.
  const change = (path: string) =>
    execFileSync('sh', [
      '-c',
      'cp -p "$1" "$1.kept"; printf x | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") / 2)) conv=notrunc status=none',
      'sh',
      path,
    ]);
  const putBack = (path: string) => renameSync(`${path}.kept`, path);
  change(piece);
  expect(host.offerRecovery('latest').said).toMatch(
    /^the base backup \w+ is corrupt: piece-000001.tar.zst$/m,
  );
  putBack(piece);

  host.barman('-q', 'archive-wal', 'state-db');
  const wals = join(host.repository, 'wals');
  const all = readdirSync(wals, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\/[0-9A-F]{24}$/.test(name))
    .sort();
  const segment = join(wals, all.at(-1) ?? '');
  change(segment);
  expect(host.offerRecovery('latest').said).toMatch(/^the write-ahead log cannot be read: [0-9A-F]{24}$/m);
  putBack(segment);
  // The checksum at the end of a segment is wrong, and its length is right.
  execFileSync('sh', [
    '-c',
    'cp -p "$1" "$1.kept"; truncate -s -8 "$1"; printf 12345678 >>"$1"',
    'sh',
    segment,
  ]);
  expect(host.offerRecovery('latest').said).toMatch(/^the write-ahead log cannot be read: [0-9A-F]{24}$/m);
  putBack(segment);

  host.source.sql('postgres', 'select pg_create_restore_point($$later$$); select pg_switch_wal()');
  host.barman('-q', 'archive-wal', 'state-db');
  renameSync(segment, join(host.folder, 'segment'));
  expect(host.offerRecovery('latest').said).toMatch(
    /^the write-ahead log has a gap: segment [0-9A-F]{24} is not there/m,
  );
  // Its links would keep what Barman removes.
  expect(existsSync(`${host.offer}.part`)).toBe(false);
  renameSync(join(host.folder, 'segment'), segment);
  expect(host.offerRecovery('2001-01-01T00:00:00Z').said).toContain(
    'no whole base backup of timeline 1, which a recovery follows, ended before 2001',
  );
  // PostgreSQL would look for a later commit until the end of the log, and never start.
  const later = new Date(Date.now() + 120_000).toISOString().replace(/\.\d+/, '');
  expect(host.offerRecovery(later)).toEqual({
    code: 1,
    said: expect.stringMatching(
      /^the newest log here is of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: recover to latest, or to a time before that\n$/,
    ),
  });
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
});

test('a piece that changes after it was verified is not unpacked', async () => {
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
  const piece = join(host.offer, 'base/piece-000001.tar.zst');
  execFileSync('sh', [
    '-c',
    'cp -p "$1" "$1.new"; mv "$1.new" "$1"; printf x | dd of="$1" bs=1 seek=1000 conv=notrunc status=none',
    'sh',
    piece,
  ]);
  const { code, said } = await host.receive('latest');
  expect(code).toBe(1);
  expect(said).toContain('piece-000001.tar.zst of the base backup is corrupt');
  expect(existsSync(host.data)).toBe(false);
});

inAllForms('what the version before has staged is replaced, and a folder of no recovery is not', () => {
  const holds = (name: string) => {
    rmSync(host.offer, { recursive: true, force: true });
    mkdirSync(host.offer);
    writeFileSync(join(host.offer, name), 'latest\n');
  };
  holds('rpc-node-recovered');
  writeFileSync(join(host.offer, 'PG_VERSION'), '15\n');
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
  expect(readdirSync(host.offer).sort()).toEqual(['base', 'lists', 'log', 'room', 'rpc-node-recovered']);
  // Whether it is of the repository, or of a copy from a storage.
  expect(readFileSync(join(host.offer, 'lists/source'), 'utf8')).toBe(`${host.repository}\n`);
  const copied = join(host.folder, 'backup/copied');
  execFileSync('cp', ['-a', host.repository, copied]);
  expect(host.offerRecovery('latest', copied)).toMatchObject({ code: 0 });
  expect(readFileSync(join(host.offer, 'lists/source'), 'utf8')).toBe(`${copied}\n`);
  rmSync(copied, { recursive: true });
  holds('notes');
  expect(host.offerRecovery('latest')).toMatchObject({
    code: 1,
    said: `${host.offer} is of no recovery, and is not replaced: move it away\n`,
  });
  expect(readdirSync(host.offer)).toEqual(['notes']);
  rmSync(host.offer, { recursive: true });
});

test('a base backup that is not whole is not offered, and is removed only for pieces that are', () => {
  host.barman('-q', 'backup', '--wait', '--immediate-checkpoint', 'state-db');
  const data = newest();
  const stream = join(data, 'base.tar.zst');
  execFileSync('cp', ['-p', stream, `${stream}.kept`]);
  execFileSync('truncate', ['--size=100000', stream]);
  expect(host.offerRecovery('latest')).toMatchObject({
    code: 1,
    said: expect.stringMatching(/^the base backup \w+ is corrupt, or cannot be cut: .*ends early/m),
  });
  expect(readdirSync(data)).toEqual(expect.not.arrayContaining(['pieces']));
  renameSync(`${stream}.kept`, stream);
  // As a run leaves them that found them corrupt, or was killed before their check.
  const pieces = join(data, 'pieces');
  const sum = '0'.repeat(64);
  mkdirSync(pieces);
  writeFileSync(join(pieces, 'piece-000001.tar.zst'), 'x');
  writeFileSync(join(pieces, 'SHA256SUMS'), `${sum}  piece-000001.tar.zst\n`);
  execFileSync('chown', ['-R', 'barman:barman', pieces]);
  const made = host.makeBackup();
  expect(made, made.said).toMatchObject({ code: 0 });
  expect(existsSync(stream)).toBe(false);
  expect(readFileSync(join(pieces, 'SHA256SUMS'), 'utf8')).not.toContain(sum);
  execFileSync('sha256sum', ['--check', '--quiet', '--strict', 'SHA256SUMS'], { cwd: pieces });
});

test('without room on the backup host no base backup begins, and what a failed run left goes', () => {
  expect(host.makeBackup(diskWith('1000000'))).toEqual({
    code: 1,
    said: expect.stringMatching(
      /^there is no room for a base backup in \S+: until it is cut, one such as the newest takes \d+ MB, and 1 MB are free\n$/,
    ),
  });
  host.barman('-q', 'backup', '--wait', '--immediate-checkpoint', 'state-db');
  const [data, there] = [newest(), readdirSync(join(host.repository, 'base'))];
  // As where the machine failed.
  execFileSync('install', ['-d', '-o', 'barman', join(data, 'pieces.part')]);
  expect(host.makeBackup(diskWith('1000000')).said).toMatch(/^there is no room in \S+ for its pieces: /);
  expect(readdirSync(data)).not.toContain('pieces.part');
  expect(readdirSync(join(host.repository, 'base'))).toEqual(there);
});

inAllForms(
  'where the newest base backup is cut by now, its former fault is over, also without room for another one',
  () => {
    const results = join(host.folder, 'results');
    writeFileSync(join(results, 'verify-failed'), 'there is no room\n');
    expect(host.makeBackup(diskWith('1000000'))).toMatchObject({ code: 1 });
    // The first run has room for the pieces alone.
    expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
    expect(host.makeBackup(diskWith('1000000'))).toMatchObject({ code: 1 });
    expect(existsSync(join(results, 'verify-failed'))).toBe(false);
    expect(readFileSync(join(results, 'no-room'), 'utf8')).toMatch(/^there is no room for a base backup in /);
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    expect(existsSync(join(results, 'no-room'))).toBe(false);
  },
);

test('an offer that is replaced when the run is killed is there again', () => {
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
  renameSync(host.offer, `${host.offer}.before`);
  expect(host.renewRecovery()).toMatchObject({ code: 0 });
  expect(existsSync(`${host.offer}.before`)).toBe(false);
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
});

inAllForms('a base backup whose pieces have no room is not cut, and leaves no half of them', () => {
  host.barman('-q', 'backup', '--wait', '--immediate-checkpoint', 'state-db');
  const data = newest();
  const aside = join(host.folder, 'aside');
  execFileSync('cp', ['-a', data, aside]);
  const size = statSync(join(data, 'base.tar.zst')).size;
  execFileSync('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${Math.round(size * 1.2)},uid=barman,mode=0700`,
    'tmpfs',
    data,
  ]);
  try {
    execFileSync('cp', ['-a', `${aside}/.`, data]);
    const words =
      /^the base backup \w+ is corrupt, or cannot be cut: there is no room in \S+ for its pieces: /;
    expect(host.offerRecovery('latest').said).toMatch(words);
    // Another program takes the room meanwhile.
    expect(host.offerRecovery('latest', undefined, diskWith('9000000000000')).said).toMatch(
      /cannot be cut: there is no room for its pieces: the disk became full$/m,
    );
    expect(readdirSync(data)).toEqual(expect.not.arrayContaining(['pieces', 'pieces.part']));
  } finally {
    execFileSync('umount', [data]);
    rmSync(aside, { recursive: true });
  }
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
});

inAllForms(
  'a base backup that was not cut, and one that the version before has made, are recovered',
  async () => {
    host.barman('-q', 'backup', '--wait', '--immediate-checkpoint', 'state-db');
    expect(existsSync(join(newest(), 'base.tar.zst'))).toBe(true);
    addBlocks(7);
    await host.untilReceived();
    expect(await recovered('latest')).toBe(blocks());
    host.makeOldBackup();
    expect(existsSync(join(newest(), 'PG_VERSION'))).toBe(true);
    expect(offeredWithKilledVerification()).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^the base backup \w+ is corrupt: pg_verifybackup came to no result:/m),
    });
    addBlocks(7);
    await host.untilReceived();
    expect(await recovered('latest')).toBe(blocks());
    // The next base backup cuts what was left.
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    const left = execFileSync('find', [host.repository, '-name', 'base.tar.zst'], { encoding: 'utf8' });
    expect(left).toBe('');
  },
);

inAllForms('after a recovery to a time, what it has undone never comes back', async () => {
  const first = newest();
  await delay(1100);
  const [before, time] = [blocks(), new Date().toISOString().replace(/\.\d+Z$/, 'Z')];
  await delay(1100);
  addBlocks(5);
  expect(host.makeBackup()).toMatchObject({ code: 0 });
  expect(newest()).not.toBe(first);
  await host.untilReceived();
  expect(host.offerRecovery(time)).toMatchObject({ code: 0 });
  expect(await host.receive(time)).toMatchObject({ code: 0 });
  const other = await host.start();
  expect(other.sql('state_db', blocksOf)).toBe(before);
  for (let n = 0; n < 3; n += 1)
    other.sql(
      'state_db',
      "select pg_switch_wal(); insert into state.l2block select max(block_num) + 1, 'other' from state.l2block",
    );
  const after = other.sql('state_db', blocksOf);
  // The log that it has undone goes further than its own.
  for (let n = 0; n < 8; n += 1) {
    addBlocks(1);
    host.source.sql('postgres', 'select pg_switch_wal()');
  }
  await host.untilReceived();
  host.barman('-q', 'archive-wal', 'state-db');
  const removeRest = host.addLogOf(other, { lost: 2 });
  expect(host.offerRecovery('latest')).toEqual({
    code: 1,
    said: expect.stringMatching(/^the write-ahead log has a gap: segment 00000002[0-9A-F]{16} is not there/),
  });
  removeRest();
  // It has just arrived.
  const removeLog = host.addLogOf(other, { isArchived: false });
  await other.stop();
  expect(await recovered('latest')).toBe(after);
  // A recovery to a time needs none of the log that came later.
  expect(await recovered(time)).toBe(before);
  removeLog();
  // Its timeline is known by a base backup alone.
  const info = join(newest(), '../backup.info');
  const text = readFileSync(info, 'utf8');
  writeFileSync(info, text.replace(/^timeline=1$/m, 'timeline=2'));
  expect(host.offerRecovery('latest')).toEqual({
    code: 1,
    said: expect.stringMatching(
      /^the base backup \w+ is of timeline 2, .* 00000002\.history has not arrived/,
    ),
  });
  writeFileSync(info, text);
});

test('backup.info is where Barman 3.13.2 and later have it', async () => {
  const old = join(newest(), '../backup.info');
  const meta = join(host.repository, 'meta');
  execFileSync('install', ['-d', '-o', 'barman', '-g', 'barman', meta]);
  const now = join(meta, `${basename(join(old, '..'))}-backup.info`);
  renameSync(old, now);
  expect(host.offerRecovery('latest')).toEqual({ code: 0, said: '' });
  renameSync(now, old);
  rmSync(meta, { recursive: true });
});

test('a receiver of a former server is found, and no other one', async () => {
  const here = localHost();
  await host.untilReceived();
  const { socket } = host.source;
  // Another test may have a repository on this machine, too.
  const left = async (server: string) => describeVerdict(await noReceiverIsLeft(server).check(here));
  expect(await left(socket)).not.toMatch(new RegExp(`^receiver: (.*, )?${socket}(,| ->)`));
  expect(await left('172.30.77.15')).toMatch(
    new RegExp(`^receiver: (.*, )?${socket}(, .*)? -> 172\\.30\\.77\\.15$`),
  );
});

// The last one: the source is gone after it.
test('a server that dies while it writes loses the writes of less than 10 seconds', async () => {
  host.source.sql(
    'state_db',
    'create table writes (n serial primary key, at timestamptz default clock_timestamp())',
  );
  const env = { ...process.env, ...host.source.environment };
  const writer = spawn(
    'sh',
    [
      '-c',
      'yes "insert into writes default values returning n, extract(epoch from at);" | psql -XAtq -d state_db',
    ],
    { env, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  // What the server has said is written.
  let written = '';
  writer.stdout.setEncoding('utf8').on('data', (text) => {
    written += text;
  });
  const ended = once(writer, 'close');
  await delay(3000);
  // All of its processes at once, as when the power goes.
  execFileSync('sh', ['-c', 'kill -9 "$1" $(pgrep -P "$1")', 'sh', String(host.source.pid)]);
  await ended;
  const [last, lastAt] = (written.trim().split('\n').at(-1) ?? '').split('|').map(Number) as [number, number];
  expect(host.offerRecovery('latest')).toMatchObject({ code: 0 });
  expect(await host.receive('latest')).toMatchObject({ code: 0 });
  const server = await host.start();
  const there = server.sql('state_db', 'select max(n), max(extract(epoch from at)) from writes');
  await server.stop();
  const [kept, keptAt] = there.split('|').map(Number) as [number, number];
  console.log(`${last} writes, ${last - kept} lost: ${Math.round((lastAt - keptAt) * 1000)} ms`);
  expect(last).toBeGreaterThan(100);
  expect(lastAt - keptAt).toBeLessThan(10);
});
