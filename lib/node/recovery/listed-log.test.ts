import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';

const script = readFileSync(new URL('../../../templates/host/recovery.sh', import.meta.url), 'utf8');
const listLog = /^list_log\(\) \{\n[\s\S]*?\n\}\n/m.exec(script)?.[0] ?? '';

/** The segments that a recovery of these files takes. */
function listed(files: readonly string[], begin: string): string[] {
  const folder = temporaryDirectory();
  for (const name of ['wals', 'streaming']) mkdirSync(join(folder, name));
  for (const name of files) writeFileSync(join(folder, name), '');
  const settings = shellSettings({ REPOSITORY: folder, begin, end: begin, until: '9999999999' });
  const { stdout } = spawnSync('sh', ['-c', `${settings}${listLog}\nlist_log`], { encoding: 'utf8' });
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' ')[0] ?? '');
}

test('segments whose names are digits alone stay two, and a segment that is there twice is taken once', () => {
  const names = ['1F', '20', '21', '22'].map((end) => `0000000100000000000000${end}`);
  const wals = names.map((name) => `wals/${name}`);
  expect(listed(wals, names[0] ?? '')).toEqual(names);
  expect(listed([...wals, `streaming/${names[3]}`], names[0] ?? '')).toEqual(names);
});
