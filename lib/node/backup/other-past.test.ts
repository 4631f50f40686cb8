import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { directory } from '../../engine/resource/file/directory.ts';
import { describeVerdict, drift, ok } from '../../engine/resource/resource.ts';
import { alone, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { newServerMayBegin, withOwnRepository } from './other-past.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~5';

const data = mkdtempSync(join(tmpdir(), 'other-past-'));
const repository = join(data, 'backup/state-db');
const resource = directory('/data/state-db');

afterEach(() => rmSync(data, { recursive: true, force: true }));

async function conditionOn(name: string) {
  const context = await contextOf({
    changes: [
      [['groups', 'backup'], { 'backup-1': { address: '172.30.77.41', vars: { paths: { data } } } }],
      [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
    ],
  });
  const { everyHost } = withOwnRepository(context, resource);
  return everyHost?.check(localHost('', { name }), [], alone);
}

test('a server may begin without its data where the backup host has nothing of another one', async () => {
  expect(await conditionOn('backup-1')).toEqual(ok);
  mkdirSync(join(repository, 'wals'), { recursive: true });
  for (const name of ['xlog.db', 'state-db-xlog.db']) writeFileSync(join(repository, 'wals', name), '');
  expect(await conditionOn('backup-1')).toEqual(ok);
});

test('a base backup, or log alone, is of another server', async () => {
  const refusal = drift(
    `${repository} holds backups of a database server, and this one begins without its data`,
  );
  for (const path of ['base/20261127T010203/backup.info', 'wals/0000000100000000/000000010000000000000003']) {
    mkdirSync(join(repository, path, '..'), { recursive: true });
    writeFileSync(join(repository, path), '');
    expect(await conditionOn('backup-1')).toEqual(refusal);
    expect(await conditionOn('db-1')).toEqual(ok);
    rmSync(repository, { recursive: true });
  }
});

test('a data directory without a database is asked about, whether it is there or not', async () => {
  const context = await contextOf({
    changes: [
      [['groups', 'backup'], { 'backup-1': { address: '172.30.77.41' } }],
      [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
    ],
  });
  const server = join(data, 'state-db');
  const [begins] = newServerMayBegin(context, server);
  if (!begins) throw new Error('nothing is asked');
  const here = localHost('', { stat: async (path) => (existsSync(path) ? rootsFile : undefined) });
  for (const prepare of [() => {}, () => mkdirSync(server, { recursive: true })]) {
    prepare();
    expect(describeVerdict(await begins.check(here))).toBe(`${server} holds no database`);
  }
  writeFileSync(join(server, 'PG_VERSION'), '15');
  expect(await begins.check(here)).toEqual(ok);
  expect(begins.everyHost).toBeDefined();
});

test('without a backup host nothing is asked', async () => {
  const context = await contextOf({});
  expect(withOwnRepository(context, resource)).toBe(resource);
  expect(newServerMayBegin(context, data)).toEqual([]);
});
