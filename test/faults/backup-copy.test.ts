import { execFileSync } from 'node:child_process';
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
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Secret } from '../../lib/engine/secret/secret.ts';
import type { Storage } from '../../lib/node/variables/s3.ts';
import { installMissing } from '../install-missing.ts';
import { ageKey, type Copy, copyOf, noted } from '../kinds/backup-copy.ts';
import { type Repository, startRepository } from '../kinds/backup-repository.ts';
import { getStorageServer, startStorage } from '../storage-server.ts';

// The copy of backups off the site, with the real PostgreSQL 15, Barman and age, and a real S3
// gateway that checks signatures.

let host: Repository;
let server: Awaited<ReturnType<typeof startStorage>>;
let copy: Copy;
/** The folder of the copy in the storage, on this machine. */
let stored: string;

beforeAll(async () => {
  installMissing([
    ['/usr/bin/age', 'age'],
    ['/usr/bin/faketime', 'faketime'],
  ]);
  await getStorageServer();
  server = await startStorage();
  host = await startRepository();
  copy = copyOf(host, server.storage());
  stored = join(server.bucket, 'backups/mainnet');
  host.source.sql(
    'state_db',
    `create schema state; create table state.l2block (block_num bigint primary key, block_hash text);
     create table filler (n bigint primary key, text text);
     insert into filler select n, encode(sha256(n::text::bytea), 'hex') || repeat(md5(n::text), 20) from generate_series(1, 500000) n;`,
  );
  addBlocks(1000);
  expect(host.makeBackup()).toMatchObject({ code: 0 });
}, 300_000);

afterAll(async () => {
  await host.end();
  await server.remove();
});

function addBlocks(count: number): void {
  host.source.sql(
    'state_db',
    `insert into state.l2block select n, md5(n::text) from generate_series((select coalesce(max(block_num), 0) + 1 from state.l2block),
     (select coalesce(max(block_num), 0) + ${count} from state.l2block)) n`,
  );
}
const blocksOf =
  "select count(*) || ' ' || md5(string_agg(block_hash, '' order by block_num)) from state.l2block";
const blocks = () => host.source.sql('state_db', blocksOf);

/** Names of the copy in the storage, without the folder of the repository. */
function names(): string[] {
  if (!existsSync(stored)) return [];
  const files = readdirSync(stored, { recursive: true, encoding: 'utf8' }) as string[];
  return files
    .filter((name) => statSync(join(stored, name)).isFile())
    .map((name) => name.replace(/^\d+\/[0-9a-f]{16}\//, ''))
    .sort();
}

/** Folders of repositories in the storage, SYSTEM/NAME. */
const repositories = () =>
  readdirSync(stored).flatMap((system) =>
    readdirSync(join(stored, system)).map((name) => `${system}/${name}`),
  );

const segments = () => names().filter((name) => name.startsWith('log/'));

/** Offers a recovery of what was fetched, fetches it onto the new server, and asks it for its blocks. */
async function recovered(time: string): Promise<string> {
  const offered = host.offerRecovery(time, copy.fetched);
  expect(offered, offered.said).toMatchObject({ code: 0 });
  expect(await host.receive(time)).toMatchObject({ code: 0 });
  const server = await host.start();
  const found = server.sql('state_db', blocksOf);
  await server.stop();
  return found;
}

/** All that the server has written is in whole segments of the repository. */
async function archived(): Promise<void> {
  const name = host.source.sql('postgres', 'select pg_walfile_name(pg_switch_wal())');
  for (let tries = 0; tries < 100; tries += 1) {
    host.barman('-q', 'archive-wal', 'state-db');
    if (existsSync(join(host.repository, 'wals', name.slice(0, 16), name))) return;
    await delay(200);
  }
  throw new Error(`${name} does not arrive`);
}

/** Nothing of the copy is anywhere. */
function startOver(): void {
  for (const folder of [stored, copy.notes, copy.fetched]) rmSync(folder, { recursive: true, force: true });
  copy.encryptFor();
}

beforeEach(startOver);
afterEach(() => {
  for (const name of [host.data, `${host.data}.rpc-node-copy`, host.offer])
    rmSync(name, { recursive: true, force: true });
});

const mebibyte = 1024 ** 2;
/** The bytes of a file in the storage. */
const path = (name: string) => join(stored, repositories()[0] ?? '', name);
const firstPiece = () => names().find((name) => name.includes('piece-000001')) ?? '';

describe('Backups are copied to a storage off the site', () => {
  test('databases are recovered from it alone, with all that was written before it was sent', async () => {
    addBlocks(100);
    const began = Math.floor(Date.now() / 1000);
    expect(await copy.send({ switchSeconds: 60 })).toEqual({ code: 0, said: '' });
    expect(Number(noted(copy, 'log-at'))).toBeGreaterThanOrEqual(began);
    expect(Number(noted(copy, 'base-at'))).toBeGreaterThan(0);
    expect(segments().length).toBeGreaterThan(0);
    const requests = server.log().length;
    expect(await copy.send()).toEqual({ code: 0, said: '' });
    // The log goes on by itself.
    expect(server.log().slice(requests)).not.toMatch(/\| PUT \| \S+\/base\//);
    const fetched = await copy.fetch('latest');
    expect(fetched, fetched.said).toMatchObject({ code: 0 });
    expect(await recovered('latest')).toBe(blocks());
  });

  test('encrypted, it is recovered with the private key alone, and shows nothing without it', async () => {
    const [key, escrow, other] = [ageKey(), ageKey(), ageKey()];
    copy.encryptFor(key.recipient, escrow.recipient);
    host.source.sql('state_db', "create table marked as select repeat('walrus', 1000) as text");
    await archived();
    expect(await copy.send()).toEqual({ code: 0, said: '' });
    expect(names().every((name) => name.endsWith('.age'))).toBe(true);
    for (const name of names())
      expect(readFileSync(path(name)).subarray(0, 21).toString()).toBe('age-encryption.org/v1');
    const grep = ['-rlE', 'end_time|PG_VERSION|walrus', stored];
    expect(() => execFileSync('grep', grep)).toThrow();
    expect(await copy.fetch('latest')).toEqual({
      code: 1,
      said: expect.stringMatching(
        /backup\.info\.age is encrypted: name the private key, by backup\.identity or --copy-identity FILE\n$/,
      ),
    });
    expect((await copy.fetch('latest', other.identity)).said).toMatch(
      /backup\.info\.age is encrypted for another key: name its private key/,
    );
    const fetched = await copy.fetch('latest', `${other.identity}\n${escrow.identity}`);
    expect(fetched, fetched.said).toMatchObject({ code: 0 });
    expect(() => execFileSync('grep', ['-rl', 'AGE-SECRET-KEY', join(host.folder, 'backup')])).toThrow();
    expect(await recovered('latest')).toBe(blocks());
  });

  test('a time before the end of the log is recovered as it was then', async () => {
    addBlocks(5);
    const [before, time] = [blocks(), new Date(Date.now() + 1000).toISOString().replace(/\.\d+Z$/, 'Z')];
    await delay(2100);
    addBlocks(5);
    host.source.sql('postgres', 'select pg_switch_wal()');
    addBlocks(5);
    await archived();
    expect(await copy.send()).toMatchObject({ code: 0 });
    expect(await copy.fetch(time)).toMatchObject({ code: 0 });
    expect(await recovered(time)).toBe(before);
    expect((await copy.fetch('2001-01-01T00:00:00Z')).said).toMatch(
      /^no whole base backup in s3:\/\/snapshots\/backups\/mainnet\/ ended before 2001/,
    );
    expect((await copy.fetch('2100-01-01T00:00:00Z')).said).toMatch(
      /^the newest log in s3:\/\/snapshots\/backups\/mainnet\/\d+\/[0-9a-f]+\/ is of \S+Z: recover to latest, or to a time before that\n$/,
    );
  });
});

/** A program before all others, for one run. */
function standIn(name: string, script: string): string {
  const folder = join(host.folder, 'stand-ins');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o755 });
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

/** How often the storage was asked to take or give a name, since so many characters of its log. */
const times = (method: string, name: string, since = 0): number =>
  server
    .log()
    .slice(since)
    .split('\n')
    .filter((line) => line.includes(`| ${method} |`) && line.includes(name)).length;

const change = (file: string) => {
  execFileSync('cp', ['-p', file, `${file}.kept`]);
  execFileSync('sh', ['-c', 'printf x | dd of="$1" bs=1 seek=1000 conv=notrunc status=none', 'sh', file]);
};
const putBack = (file: string) => renameSync(`${file}.kept`, file);
/** The process that receives the log of the server. */
const receiverOf = (folder: string) =>
  Number(execFileSync('pgrep', ['-f', `pg_receivewal.*${folder}/streaming`], { encoding: 'utf8' }));
const bases = () => readdirSync(join(host.repository, 'base')).sort();
const here = (name: string) => join(host.repository, 'base', bases().at(-1) ?? '', 'data', name);

describe('A copy of backups on its way to a storage goes wrong', () => {
  test.each([
    ['while a piece is sent', () => times('PUT', 'piece-000001') > 0],
    [
      'while the log is sent',
      () => existsSync(join(copy.notes, 'log-at')) === false && segments().length > 1,
    ],
    ['while a piece is encrypted', () => existsSync(join(copy.notes, 'work/body'))],
  ])('killed %s: the next run ends it', async (when, killedWhen) => {
    if (when.endsWith('encrypted')) copy.encryptFor(ageKey().recipient);
    const since = server.log().length;
    const programs = standIn('curl', `exec /usr/bin/curl "$@" --limit-rate ${20 * mebibyte}`);
    const isNow = () => server.log().length > since && killedWhen();
    expect((await copy.send({ programs, killedWhen: isNow })).code).not.toBe(0);
    expect(names().filter((name) => name.includes('backup.info'))).toEqual([]);
    const [there, from] = [names(), server.log().length];
    expect(await copy.send()).toEqual({ code: 0, said: '' });
    expect(names().some((name) => name.includes('backup.info'))).toBe(true);
    for (const name of there) expect([name, times('PUT', name, from)]).toEqual([name, 0]);
  });

  test.each<[string, () => Storage, RegExp]>([
    [
      'an unknown access key',
      () => server.storage({ access_key: new Secret('AKIAOTHER') }),
      /the storage does not know the access key: correct backup\.s3\.access_key/,
    ],
    [
      'another secret key',
      () => server.storage({ secret_key: new Secret('other.Key~1') }),
      /the secret key is not that of the access key: correct backup\.s3\.secret_key/,
    ],
    [
      'another region',
      () => server.storage({ region: 'us-east-1' }),
      /the bucket is in region eu-test-1: correct backup\.s3\.region/,
    ],
    [
      'a key without rights',
      () => server.account('AKIANORIGHTS', 'user'),
      /the storage does not allow this with this key/,
    ],
    [
      'an endpoint that does not answer',
      () => server.storage({ endpoint: 'http://127.0.0.1:1' }),
      /the storage at 127\.0\.0\.1:1 does not answer .*: check backup\.s3\.endpoint/,
    ],
  ])('%s: named, with what to do, and the next run ends it', async (_, of, words) => {
    const storage = of();
    const { code, said } = await copy.send({ storage });
    expect([code, said]).toEqual([1, expect.stringMatching(words)]);
    expect(noted(copy, 'failed')).toMatch(words);
    expect((await copy.fetch('latest', '', { storage })).said).toMatch(words);
    expect(await copy.send()).toEqual({ code: 0, said: '' });
    expect(noted(copy, 'failed')).toBe('');
  });

  test('the bucket is away: named, and the next run sends all of it', async () => {
    renameSync(server.bucket, `${server.bucket}.away`);
    expect((await copy.send()).said).toMatch(/there is no such bucket: correct its name, or make it/);
    renameSync(`${server.bucket}.away`, server.bucket);
    expect(await copy.send()).toMatchObject({ code: 0 });
  });

  test.each(['-40m', '+40m'])('a clock that is %s off: named, with how it is corrected', async (offset) => {
    const { said } = await copy.send({ before: ['faketime', '-f', offset] });
    expect(said).toMatch(
      /the clock of \S+ is (39|40|41) minutes (behind|ahead of) that of the storage, which then accepts no signature: correct/,
    );
    expect(await copy.send()).toMatchObject({ code: 0 });
  });

  test('the keys are withdrawn in the middle: named, and the next run ends it', async () => {
    const storage = server.account('AKIAWITHDRAWN', 'admin');
    const programs = standIn(
      'age',
      `while [ ! -e ${host.folder}/withdrawn ]; do sleep 0.1; done; exec /usr/bin/age "$@"`,
    );
    copy.encryptFor(ageKey().recipient);
    const sending = copy.send({ storage, programs });
    while (!existsSync(join(copy.notes, 'work/plain'))) await delay(20);
    server.withdraw('AKIAWITHDRAWN');
    writeFileSync(join(host.folder, 'withdrawn'), '');
    expect((await sending).said).toContain('the storage does not know the access key');
    expect(await copy.send()).toEqual({ code: 0, said: '' });
  });

  test('the disk of the backup host is full: named, and the next run ends it', async () => {
    execFileSync('install', ['-d', '-o', 'barman', '-g', 'barman', copy.notes]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,uid=barman,mode=0700', 'tmpfs', copy.notes]);
    try {
      const { code, said } = await copy.send();
      expect([code, said]).toEqual([1, expect.stringContaining(`there is no room in ${copy.notes}`)]);
    } finally {
      execFileSync('umount', [copy.notes]);
    }
    expect(names().some((name) => name.includes('backup.info'))).toBe(false);
    expect(await copy.send()).toEqual({ code: 0, said: '' });
  });

  test('a piece of the repository is damaged: named and not sent, and the log goes on', async () => {
    const piece = here('pieces/piece-000001.tar.zst');
    change(piece);
    const { code, said } = await copy.send();
    expect([code, said]).toEqual([1, `${piece} is corrupt, and is not sent\n`]);
    expect(noted(copy, 'failed')).toContain('is corrupt, and is not sent');
    expect(segments().length).toBeGreaterThan(0);
    expect(firstPiece()).toBe('');
    putBack(piece);
    expect(await copy.send()).toEqual({ code: 0, said: '' });
  });

  test('a segment of the repository is damaged: named and not sent, and the others are', async () => {
    const wals = join(host.repository, 'wals');
    const all = (readdirSync(wals, { recursive: true, encoding: 'utf8' }) as string[]).filter((name) =>
      /\/[0-9A-F]{24}$/.test(name),
    );
    const segment = join(wals, all.sort()[0] ?? '');
    change(segment);
    const name = segment.slice(-24);
    expect((await copy.send()).said).toContain(
      `the write-ahead log ${name} cannot be read, and is not sent\n`,
    );
    expect(segments().length).toBeGreaterThan(0);
    expect(names().some((each) => each.includes('backup.info'))).toBe(true);
    expect(noted(copy, 'log-at')).toBe('');
    putBack(segment);
    expect(await copy.send()).toEqual({ code: 0, said: '' });
    expect(segments()).toContainEqual(expect.stringContaining(name));
  });

  test('what somebody removes from the storage is sent again', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    const lost = [segments()[0] ?? '', firstPiece()];
    for (const name of lost) rmSync(path(name));
    for (const info of names().filter((name) => name.includes('backup.info'))) rmSync(path(info));
    expect(await copy.send()).toMatchObject({ code: 0 });
    expect(names()).toEqual(expect.arrayContaining(lost));
  });

  test('the server is away: what arrived is sent, and the copy does not pass for newer', async () => {
    await archived();
    const programs = standIn('barman', 'exit 1');
    expect(await copy.send({ programs })).toEqual({ code: 0, said: '' });
    expect(segments().length).toBeGreaterThan(0);
    expect(noted(copy, 'log-at')).toBe('');
  });

  test('nothing is left to switch and a segment has not arrived: the copy does not pass for newer', async () => {
    addBlocks(1);
    expect(await copy.send({ switchSeconds: 60 })).toEqual({ code: 0, said: '' });
    const [at, receiver] = [noted(copy, 'log-at'), receiverOf(host.repository)];
    expect(Number(at)).toBeGreaterThan(0);
    await delay(1100);
    process.kill(receiver, 'SIGSTOP');
    try {
      addBlocks(1);
      host.source.sql('postgres', 'select pg_switch_wal()');
      expect(await copy.send()).toEqual({ code: 0, said: '' });
      expect(noted(copy, 'log-at')).toBe(at);
    } finally {
      process.kill(receiver, 'SIGCONT');
    }
    addBlocks(1);
    expect(await copy.send({ switchSeconds: 60 })).toEqual({ code: 0, said: '' });
    expect(Number(noted(copy, 'log-at'))).toBeGreaterThan(Number(at));
  });

  test.each([
    ['Barman removes a base backup in the middle: nothing is wrong', 'base', ''],
    ['a piece of the repository is missing: named', 'piece', 'piece-000001.tar.zst is missing\n'],
  ])(
    '%s',
    async (_, what, words) => {
      const piece = here('pieces/piece-000001.tar.zst');
      const gone = what === 'base' ? join(host.repository, 'base', bases().at(-1) ?? '') : piece;
      const aside = join(host.repository, 'aside');
      const programs = standIn(
        'cat',
        `case "$1" in */piece-000001*) [ -e ${aside} ] || mv ${gone} ${aside} ;; esac\nexec /bin/cat "$@"`,
      );
      const { code, said } = await copy.send({ programs });
      renameSync(aside, gone);
      expect(noted(copy, 'failed')).toMatch(words === '' ? /^$/ : /is missing$/);
      expect(code).toBe(words === '' ? 0 : 1);
      expect(said).not.toContain('there is no room');
      expect(said).toContain(words);
      expect(await copy.send()).toEqual({ code: 0, said: '' });
    },
    60_000,
  );

  test('two runs at once: one of them does all of it', async () => {
    const [one, other] = await Promise.all([copy.send(), copy.send()]);
    expect([one, other]).toEqual([
      { code: 0, said: '' },
      { code: 0, said: '' },
    ]);
    expect(times('PUT', firstPiece())).toBeGreaterThan(0);
  });

  test('no key is in an argument list or an environment', async () => {
    const seen = join(host.folder, 'seen');
    writeFileSync(seen, '', { mode: 0o666 });
    execFileSync('chmod', ['666', seen]);
    const programs = standIn('curl', `{ echo "$@"; env; } >>${seen}\nexec /usr/bin/curl "$@"`);
    expect(await copy.send({ programs })).toMatchObject({ code: 0 });
    const text = readFileSync(seen, 'utf8');
    expect(text).toContain('--upload-file');
    for (const secret of ['AKIAROOT', 'root/Secret+1']) expect(text).not.toContain(secret);
    expect(() => execFileSync('grep', ['-rl', 'root/Secret', join(host.folder, 'backup')])).toThrow();
  });
});

describe('A copy of backups is fetched from a storage and something is wrong', () => {
  test.each([['plain'], ['encrypted']])('killed, %s: the next run goes on', async (how) => {
    const key = ageKey();
    const identity = how === 'encrypted' ? key.identity : '';
    if (how === 'encrypted') copy.encryptFor(key.recipient);
    await archived();
    expect(await copy.send()).toMatchObject({ code: 0 });
    const seen = join(copy.fetched, 'base', bases().at(-1) ?? '', 'data/pieces/piece-000001.tar.zst');
    const killed = await copy.fetch('latest', identity, { killedWhen: () => existsSync(seen) });
    expect(killed.code).not.toBe(0);
    expect(existsSync(join(copy.fetched, 'fetched'))).toBe(false);
    const from = server.log().length;
    expect(await copy.fetch('latest', identity)).toEqual({ code: 0, said: '' });
    expect(times('GET', 'piece-000001', from)).toBe(0);
    expect(await recovered('latest')).toBe(blocks());
  });

  test('the machine fails in the middle, and a piece is not on its disk: fetched again', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    const piece = join(copy.fetched, 'base', bases().at(-1) ?? '', 'data/pieces/piece-000001.tar.zst');
    await copy.fetch('latest', '', { killedWhen: () => existsSync(piece) });
    execFileSync('truncate', ['--size=0', piece]);
    // Of the start before.
    writeFileSync(join(copy.fetched, 'boot'), 'another\n');
    expect(await copy.fetch('latest')).toEqual({ code: 0, said: '' });
    expect(await recovered('latest')).toBe(blocks());
    // What was whole is on the disk, also where the version before has fetched it. The playbook removes the mark to fetch what came since.
    for (const note of ['fetched', 'boot']) {
      rmSync(join(copy.fetched, note));
      const from = server.log().length;
      expect(await copy.fetch('latest')).toEqual({ code: 0, said: '' });
      expect(times('GET', 'piece-000001', from)).toBe(0);
    }
  });

  test.each([
    ['a command', (ran: string) => `;touch\${IFS}${ran};`],
    ['a file elsewhere', () => '../ran'],
  ])('somebody names %s in the storage: nothing of it is run or written', async (_, of) => {
    const ran = join(host.repository, '../ran');
    expect(await copy.send()).toMatchObject({ code: 0 });
    const [base = ''] = bases().slice(-1);
    const sums = path(`base/${base}/SHA256SUMS`);
    const text = readFileSync(sums, 'utf8');
    rmSync(sums);
    const item = `${repositories()[0]}/base/${base}/backup_manifest`;
    writeFileSync(sums, `${text}${item} ${of(ran)} - -\n`);
    const { code, said } = await copy.fetch('latest');
    expect(existsSync(ran)).toBe(false);
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/SHA256SUMS is damaged: it names what is no piece/),
    ]);
    rmSync(sums);
    writeFileSync(sums, text);
    // A name after all others, as if it were the newest base backup.
    execFileSync('cp', ['-a', path(`base/${base}`), path('base/zz')]);
    expect(await copy.fetch('latest')).toEqual({ code: 0, said: '' });
    expect(readdirSync(join(copy.fetched, 'base'))).toEqual([base]);
  });

  test('a backup.info with words that Barman does not write, or of an unknown past: the file is named', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    const info = path(`base/${bases().at(-1)}/backup.info`);
    const text = readFileSync(info, 'utf8');
    rmSync(info);
    writeFileSync(info, `${text}version=a[$(id)]\n`);
    expect((await copy.fetch('latest')).said).toMatch(/backup\.info is damaged\n$/);
    // Of a recovered server, and what that recovery has undone is not known.
    writeFileSync(info, text.replace(/^timeline=1$/m, 'timeline=2'));
    expect((await copy.fetch('latest')).said).toMatch(
      /^the base backup \S+ is of timeline 2, which a recovery of the server began, and 00000002\.history is not there: /,
    );
  });

  test('where the copy is encrypted, a file in plain text is taken for none of it', async () => {
    const key = ageKey();
    expect(await copy.send()).toMatchObject({ code: 0 });
    const words =
      /^no whole base backup that is encrypted in s3:\/\/snapshots\/backups\/mainnet\/ ended before latest: a copy in plain text is taken only without backup\.recipients, backup\.identity and --copy-identity\n$/;
    expect(await copy.fetch('latest', key.identity)).toEqual({ code: 1, said: expect.stringMatching(words) });
    copy.encryptFor(key.recipient);
    expect(await copy.fetch('latest')).toEqual({ code: 1, said: expect.stringMatching(words) });
    // It is sent again, encrypted.
    expect(await copy.send()).toEqual({ code: 0, said: '' });
    expect(await copy.fetch('latest', key.identity)).toEqual({ code: 0, said: '' });
  });

  test.each([['plain'], ['encrypted']])('a piece is damaged in the storage, %s: named', async (how) => {
    const key = ageKey();
    if (how === 'encrypted') copy.encryptFor(key.recipient);
    expect(await copy.send()).toMatchObject({ code: 0 });
    const piece = path(firstPiece());
    change(piece);
    const identity = how === 'encrypted' ? key.identity : '';
    const { code, said } = await copy.fetch('latest', identity);
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/piece-000001\.tar\.zst(\.age)? (is damaged|cannot be decrypted)/),
    ]);
    expect(said).toContain('is not fetched. The next run goes on');
    expect(existsSync(join(copy.fetched, 'fetched'))).toBe(false);
    execFileSync('cp', [`${piece}.kept`, piece]);
    rmSync(`${piece}.kept`);
    expect(await copy.fetch('latest', identity)).toMatchObject({ code: 0 });
  });

  test('a piece is missing in the storage: named', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    rmSync(path(firstPiece()));
    expect((await copy.fetch('latest')).said).toMatch(/piece-000001\.tar\.zst is not there\n/);
  });

  test('a segment is missing in the storage: the recovery names it, before anything is stopped', async () => {
    for (const _ of [1, 2, 3]) {
      addBlocks(1);
      await archived();
    }
    expect(await copy.send()).toMatchObject({ code: 0 });
    const lost = segments().at(-2) ?? '';
    rmSync(path(lost));
    expect(await copy.fetch('latest')).toMatchObject({ code: 0 });
    expect(host.offerRecovery('latest', copy.fetched).said).toMatch(
      /^the write-ahead log has a gap: segment [0-9A-F]{24} is not there/m,
    );
    expect(await copy.send()).toMatchObject({ code: 0 });
    expect(await copy.fetch('latest')).toMatchObject({ code: 0 });
    expect(await recovered('latest')).toBe(blocks());
  });

  test('a disk without room: named before anything is fetched', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    const programs = standIn('df', 'echo x; echo disk 9000000 8000000 1000000 89% /');
    const { code, said } = await copy.fetch('latest', '', { programs });
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/for the copy: \d+ MB have to be fetched, and 1 MB are free\n$/),
    ]);
    expect(await copy.fetch('latest')).toMatchObject({ code: 0 });
  });

  test('a disk without room for what is decrypted beside it: named before anything is fetched', async () => {
    const key = ageKey();
    copy.encryptFor(key.recipient);
    expect(await copy.send()).toMatchObject({ code: 0 });
    const all = names().reduce((sum, name) => sum + statSync(path(name)).size, 0);
    const df = (free: number) => standIn('df', `echo x; echo disk 9 9 ${free} 89% /`);
    const { code, said } = await copy.fetch('latest', key.identity, { programs: df(all) });
    expect([code, said]).toEqual([1, expect.stringMatching(/^there is no room in \S+ for the copy: /)]);
    const programs = df(all + 4 * statSync(path(firstPiece())).size);
    expect(await copy.fetch('latest', key.identity, { programs })).toMatchObject({ code: 0 });
  });

  test('the disk is full while the storage is listed: named', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    for (let n = 0; n < 200; n += 1) writeFileSync(path(`log/00000001000000000000000000.${n}`), '');
    execFileSync('install', ['-d', '-o', 'barman', '-g', 'barman', copy.fetched]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8k,uid=barman,mode=0700', 'tmpfs', copy.fetched]);
    try {
      const { code, said } = await copy.fetch('latest');
      expect([code, said]).toEqual([1, expect.stringMatching(/: there is no room for its list of names\n$/)]);
    } finally {
      execFileSync('umount', [copy.fetched]);
    }
    expect(await copy.fetch('latest')).toMatchObject({ code: 0 });
  });

  test('an empty storage: named', async () => {
    expect((await copy.fetch('latest')).said).toBe(
      'no whole base backup in s3://snapshots/backups/mainnet/ ended before latest\n',
    );
  });
});

// The last ones: they remove the first base backup.
describe('The storage keeps what Barman keeps', () => {
  test('what Barman removes goes there too, and nothing that this host has not sent', async () => {
    await archived();
    expect(await copy.send()).toMatchObject({ code: 0 });
    const [old] = bases();
    const foreign = [
      'base/19990101T000000/backup.info',
      'log/000000010000000000000000.1',
      'notes.txt',
      `base/${old}/notes`,
    ];
    for (const name of foreign) {
      mkdirSync(join(path(name), '..'), { recursive: true });
      writeFileSync(path(name), 'theirs');
    }
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    expect(await copy.send()).toMatchObject({ code: 0 });
    const before = segments();
    host.barman('-q', 'delete', 'state-db', old ?? '');
    expect(await copy.send({ keepDays: 0 })).toEqual({ code: 0, said: '' });
    const own = (name: string) => name.startsWith(`base/${old}/`) && !foreign.includes(name);
    expect(names().filter(own)).toEqual([]);
    expect(names()).toEqual(expect.arrayContaining(foreign));
    expect(segments().filter((name) => before.includes(name)).length).toBeLessThan(before.length);
    expect(await copy.fetch('latest')).toMatchObject({ code: 0 });
    expect(await recovered('latest')).toBe(blocks());
  });

  test('a new backup host, or an empty repository, removes nothing', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    const there = names();
    renameSync(join(host.repository, 'base'), join(host.repository, 'base.away'));
    expect(await copy.send()).toMatchObject({ code: 0 });
    expect(names()).toEqual(expect.arrayContaining(there));
    rmSync(join(host.repository, 'base'), { recursive: true, force: true });
    renameSync(join(host.repository, 'base.away'), join(host.repository, 'base'));
    rmSync(copy.notes, { recursive: true });
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    host.barman('-q', 'delete', 'state-db', bases()[0] ?? '');
    expect(await copy.send({ keepDays: 0 })).toMatchObject({ code: 0 });
    expect(names()).toEqual(expect.arrayContaining(there));
  });

  test('a key that may not remove: named, and all else is done', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    expect(await copy.send()).toMatchObject({ code: 0 });
    host.barman('-q', 'delete', 'state-db', bases()[0] ?? '');
    const programs = standIn(
      'curl',
      'case "$*" in *"--request DELETE"*) sed s/AKIAROOT/AKIANOBODY/ | /usr/bin/curl "$@" ;; *) exec /usr/bin/curl "$@" ;; esac',
    );
    const { code, said } = await copy.send({ programs, keepDays: 0 });
    expect([code, said]).toEqual([1, expect.stringMatching(/does not know the access key/)]);
    expect(await copy.send({ keepDays: 0 })).toEqual({ code: 0, said: '' });
  });

  test('the disk is full while a name that goes is noted: no other name is lost', async () => {
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    expect(await copy.send()).toMatchObject({ code: 0 });
    host.barman('-q', 'delete', 'state-db', bases()[0] ?? '');
    const aside = join(host.folder, 'notes');
    execFileSync('cp', ['-a', copy.notes, aside]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,uid=barman,mode=0700', 'tmpfs', copy.notes]);
    try {
      execFileSync('cp', ['-a', `${aside}/.`, copy.notes]);
      const noted = readFileSync(join(copy.notes, 'sent'), 'utf8');
      const programs = standIn(
        'curl',
        `/usr/bin/curl "$@"; code=$?\ncase "$*" in *"--request DELETE"*) dd if=/dev/zero of=${copy.notes}/full bs=64k 2>/dev/null ;; esac\nexit $code`,
      );
      const { code, said } = await copy.send({ programs, keepDays: 0 });
      expect(readFileSync(join(copy.notes, 'sent'), 'utf8')).toContain(noted);
      expect([code, said]).toEqual([1, expect.stringContaining(`there is no room in ${copy.notes}`)]);
      rmSync(join(copy.notes, 'full'));
      expect(await copy.send({ keepDays: 0 })).toEqual({ code: 0, said: '' });
      const left = names()
        .filter((name) => name.startsWith('base/'))
        .map((name) => name.split('/')[1]);
      expect([...new Set(left)]).toEqual(bases());
    } finally {
      execFileSync('umount', [copy.notes]);
      rmSync(aside, { recursive: true });
    }
  });

  test('the newest backup.info is damaged: named, and the base backup before it is taken', async () => {
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    addBlocks(5);
    expect(await copy.send({ switchSeconds: 60 })).toMatchObject({ code: 0 });
    const [before, newest] = bases().slice(-2);
    writeFileSync(path(`base/${newest}/backup.info`), 'x'.repeat(2000));
    const { code, said } = await copy.fetch('latest');
    expect([code, said]).toEqual([0, expect.stringMatching(`${newest}/backup\\.info is damaged`)]);
    expect(readdirSync(join(copy.fetched, 'base'))).toEqual([before]);
    expect(await recovered('latest')).toBe(blocks());
    for (const each of bases()) rmSync(path(`base/${each}/SHA256SUMS`));
    for (const each of bases()) writeFileSync(path(`base/${each}/backup.info`), 'x');
    expect(await copy.fetch('latest')).toMatchObject({ code: 1 });
  });

  test('a base backup of a time that a recovery has undone is not taken', async () => {
    const first = bases().at(-1);
    await delay(1100);
    const [before, time] = [blocks(), new Date().toISOString().replace(/\.\d+Z$/, 'Z')];
    await delay(1100);
    addBlocks(5);
    await archived();
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    expect(await copy.send({ switchSeconds: 60 })).toMatchObject({ code: 0 });
    expect(await copy.fetch(time)).toMatchObject({ code: 0 });
    expect(host.offerRecovery(time, copy.fetched)).toMatchObject({ code: 0 });
    expect(await host.receive(time)).toMatchObject({ code: 0 });
    const other = await host.start();
    expect(other.sql('state_db', blocksOf)).toBe(before);
    other.sql('state_db', "insert into state.l2block select max(block_num) + 1, 'other' from state.l2block");
    const after = other.sql('state_db', blocksOf);
    const removeLog = host.addLogOf(other);
    await other.stop();
    try {
      expect(await copy.send()).toMatchObject({ code: 0 });
      const fetched = await copy.fetch('latest');
      expect(fetched, fetched.said).toMatchObject({ code: 0 });
      expect(readdirSync(join(copy.fetched, 'base'))).toEqual([first]);
      expect(await recovered('latest')).toBe(after);
    } finally {
      removeLog();
    }
  });

  test('a repository that begins again has a folder of its own, and a recovery takes the newest', async () => {
    await archived();
    expect(await copy.send()).toMatchObject({ code: 0 });
    const there = segments();
    const [old] = repositories();
    // As in an empty one.
    rmSync(join(host.repository, 'copy-name'));
    await delay(1100);
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    expect(await copy.send({ switchSeconds: 60 })).toMatchObject({ code: 0 });
    const own = repositories().find((each) => each !== old) ?? '';
    const sent = readdirSync(join(stored, own, 'log')).map((name) => `log/${name}`);
    expect(sent).toEqual(expect.arrayContaining(there));
    const fetched = await copy.fetch('latest');
    expect(fetched, fetched.said).toMatchObject({ code: 0 });
    expect(readdirSync(join(copy.fetched, 'base'))).toEqual(bases().slice(-1));
    expect(await recovered('latest')).toBe(blocks());
  });

  test('two servers sent to one folder at the same time: a recovery wants to know which', async () => {
    expect(await copy.send()).toMatchObject({ code: 0 });
    const [one = ''] = repositories();
    rmSync(join(host.repository, 'copy-name'));
    expect(await copy.send()).toMatchObject({ code: 0 });
    addBlocks(5);
    await archived();
    expect(await copy.send()).toMatchObject({ code: 0 });
    const other = repositories().find((each) => each !== one) ?? '';
    const { code, said } = await copy.fetch('latest');
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(
        /^more than one repository was sent to s3:\/\/snapshots\/backups\/mainnet\/ at that/,
      ),
    ]);
    for (const each of [one, other]) expect(said).toContain(`s3://snapshots/backups/mainnet/${each}/`);
    const target = `s3://snapshots/backups/mainnet/${other}`;
    expect(await copy.fetch('latest', '', { target })).toEqual({ code: 0, said: '' });
    expect(await recovered('latest')).toBe(blocks());
  });

  test('base backups that the repository has lost stay in the storage with their log', async () => {
    await archived();
    expect(await copy.send()).toMatchObject({ code: 0 });
    const there = names();
    rmSync(join(host.repository, 'base'), { recursive: true });
    execFileSync('install', ['-d', '-o', 'barman', '-g', 'barman', join(host.repository, 'base')]);
    expect(host.makeBackup()).toMatchObject({ code: 0 });
    for (const _ of [1, 2]) expect(await copy.send()).toEqual({ code: 0, said: '' });
    expect(names()).toEqual(expect.arrayContaining([...there, `base/${bases()[0]}/backup.info`]));
    // Their time is over.
    expect(await copy.send({ keepDays: 0 })).toEqual({ code: 0, said: '' });
    expect([
      ...new Set(
        names()
          .filter((name) => name.startsWith('base/'))
          .map((name) => name.split('/')[1]),
      ),
    ]).toEqual(bases());
  });
});
