import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { localHost } from '../testing/local-host.ts';
import { newestBase } from './newest-base.ts';

const infoOf = (status: string, end: string) => `end_time=${end}\nstatus=${status}\n`;

function repository() {
  const folder = temporaryDirectory();
  const put = (path: string, text: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  return { folder, put, newest: () => newestBase(localHost(), folder) };
}

test('the newest base backup is the one that ended last, and is whole', async () => {
  const { put, newest } = repository();
  expect(await newest()).toBe('');
  put('base/1/backup.info', infoOf('DONE', '2026-11-25 23:59:59.123456+00:00'));
  put('base/2/backup.info', infoOf('DONE', '2026-11-26 05:12:45.123456+02:00'));
  put('base/3/backup.info', infoOf('FAILED', '2026-11-26 09:00:00+00:00'));
  expect(await newest()).toBe('2026-11-26T03:12:45Z');
});

test('Barman 3.13.2 and later keep backup.info in a folder of its own', async () => {
  const { folder, put, newest } = repository();
  put('base/20261126T031200/backup.info', infoOf('DONE', '2026-11-26 03:12:45+00:00'));
  put('base/20261127T215053/data/base.tar.zst', '');
  const recorded = new URL('testdata/barman-3.13.3-backup.info', import.meta.url);
  put('meta/20261127T215053-backup.info', readFileSync(recorded, 'utf8'));
  expect(await newest()).toBe('2026-11-27T21:50:53Z');
  // What a newer Barman writes of a base backup of an older one counts.
  put('meta/20261127T215053-backup.info', infoOf('FAILED', 'None'));
  put('base/20261127T215053/backup.info', infoOf('DONE', '2026-11-27 21:50:53+00:00'));
  expect(await newest()).toBe('2026-11-26T03:12:45Z');
  // Barman removes it last.
  rmSync(join(folder, 'base/20261126T031200'), { recursive: true });
  put('meta/20261126T031200-backup.info', infoOf('DONE', '2026-11-26 03:12:45+00:00'));
  expect(await newest()).toBe('');
});
