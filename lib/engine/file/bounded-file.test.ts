import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { readBounded, readPlain, UnfitFile } from './bounded-file.ts';

test('a file is read up to its limit; a device, a pipe and a directory are refused without waiting', () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'file'), 'text');
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  expect(readBounded(join(folder, 'file'), 4).toString()).toBe('text');
  expect(() => readBounded(join(folder, 'file'), 3)).toThrow(
    new UnfitFile('is 4 bytes long, and no more than 3 are read'),
  );
  expect(() => readBounded('/dev/zero', 4)).toThrow(new UnfitFile('is not a file'));
  expect(() => readBounded(join(folder, 'pipe'), 4)).toThrow(new UnfitFile('is not a file'));
  expect(() => readPlain(join(folder, 'pipe'), 4)).toThrow(new UnfitFile('is not a file'));
  expect(readPlain(join(folder, 'file'), 4).toString()).toBe('text');
  expect(() => readBounded(folder, 4)).toThrow(new UnfitFile('is a folder'));
  expect(() => readBounded(join(folder, 'none'), 4)).toThrow('ENOENT');
});
