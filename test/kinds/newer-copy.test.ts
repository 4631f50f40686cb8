import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readScript } from '../../lib/engine/host/script.ts';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { inBucket, type Storage, signing } from '../../lib/node/variables/s3.ts';
import { getStorageServer, startStorage } from '../storage-server.ts';

// Whether the copy of the backups in a real storage has more than what was fetched of it.

const target = 's3://snapshots/backups/mainnet';
const repository = '7300000000000000001/a1b2';
const template = (name: string) => new URL(`../../templates/host/${name}.sh`, import.meta.url);
const script = readScript(template('fetch'), template('storage-folder'), template('newer-copy'));

let server: Awaited<ReturnType<typeof startStorage>>;
let folder: string;
let fetched: string;

beforeAll(async () => {
  await getStorageServer();
  server = await startStorage();
  folder = mkdtempSync('/var/tmp/newer-copy-');
  fetched = join(folder, 'from-storage');
});

afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
});

const segment = (at: number, timeline = 1) =>
  `${timeline.toString(16).padStart(8, '0')}00000000${at.toString(16).padStart(8, '0')}`.toUpperCase();

/** The storage has a file, and where it is log a fetch may have seen it. */
function put(name: string, seen?: string): void {
  const path = join(server.bucket, 'backups/mainnet', name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, name);
  if (seen !== undefined) appendFileSync(join(fetched, 'seen'), `${seen}\n`);
}

/** As fetch-backup.sh writes them. */
function sortSeen(): void {
  const names = readFileSync(join(fetched, 'seen'), 'utf8').split('\n').filter(Boolean);
  writeFileSync(
    join(fetched, 'seen'),
    [...new Set(names)]
      .sort()
      .map((name) => `${name}\n`)
      .join(''),
  );
}

beforeEach(() => {
  for (const each of [join(server.bucket, 'backups'), fetched])
    rmSync(each, { recursive: true, force: true });
  mkdirSync(fetched, { recursive: true });
  writeFileSync(join(fetched, 'source'), `${target}/${repository}/\n`);
  // Of before the base backup, which begins with the fifth.
  put(`${repository}/log/${segment(4)}.1700000400`, segment(4));
  put(`${repository}/base/20261126T100000/backup.info`);
  for (const at of [5, 6]) put(`${repository}/log/${segment(at)}.170000050${at}`, segment(at));
});

async function newer(storage: Storage = server.storage(), from = target) {
  const { bucket, prefix } = inBucket(from, storage);
  const conf = join(folder, 'backup-copy.conf');
  writeFileSync(conf, shellSettings({ BUCKET: bucket, PREFIX: prefix, SHOWN: `${from}/` }));
  const child = spawn('sh', ['-c', script, 'newer-copy', fetched, conf]);
  child.stdin.end(signing(storage).reveal());
  const [said, why, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ]);
  return { said, why, code };
}

const nothing = { said: '', why: '', code: 0 };

test('where all of it was fetched, nothing is newer', async () => {
  expect(await newer()).toEqual(nothing);
  // Another repository of the same database system has its own log.
  put(`7300000000000000001/c3d4/log/${segment(9)}.1700000900`);
  expect(await newer()).toEqual(nothing);
});

test.each([
  ['a segment', `log/${segment(7)}.1700000700`, segment(7)],
  ['an encrypted one', `log/${segment(7)}.1700000700.age`, segment(7)],
  ['one of a later timeline', `log/${segment(5, 2)}.1700000700`, segment(5, 2)],
  ['a history of timelines', 'log/00000002.history.1700000700', '00000002.history'],
])('%s that came since is newer', async (_, name, says) => {
  put(`${repository}/${name}`);
  expect(await newer()).toEqual({ ...nothing, said: `${says}\n` });
  appendFileSync(join(fetched, 'seen'), `${says}\n`);
  sortSeen();
  expect(await newer()).toEqual(nothing);
});

test('the folder of the repository may itself be the one of the inventory', async () => {
  const from = `${target}/${repository}`;
  expect(await newer(server.storage(), from)).toEqual(nothing);
  put(`${repository}/log/${segment(7)}.1700000700`);
  expect(await newer(server.storage(), from)).toEqual({ ...nothing, said: `${segment(7)}\n` });
});

test('among more names than one answer has', async () => {
  for (let at = 7; at < 1100; at += 1) put(`${repository}/log/${segment(at)}.1700000700`, segment(at));
  expect(await newer()).toEqual(nothing);
  put(`${repository}/log/${segment(1100)}.1700000800`);
  expect(await newer()).toEqual({ ...nothing, said: `${segment(1100)}\n` });
});

test('a storage that refuses is no storage without newer log', async () => {
  const { said, why, code } = await newer(server.account('AKIANORIGHTS', 'user'));
  expect([said, code]).toEqual(['', 1]);
  expect(why).toContain('the storage does not allow this with this key');
  // It was fetched by an earlier version, which did not note what it saw, or of another folder.
  rmSync(join(fetched, 'seen'));
  expect(await newer()).toEqual({ ...nothing, said: 'log\n' });
  rmSync(join(fetched, 'source'));
  expect(await newer()).toMatchObject({ said: '', code: 1 });
  writeFileSync(join(fetched, 'source'), 's3://snapshots/other/\n');
  expect(await newer()).toEqual({ said: '', why: `what was fetched is not of ${target}/\n`, code: 1 });
});
