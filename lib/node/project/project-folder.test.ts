import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { installation, marker, projectFolderFrom } from './project-folder.ts';

const folder = mkdtempSync(join(tmpdir(), 'project-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the nearest folder upwards with the marker is the project; without one it is the installation', () => {
  const deep = join(folder, 'fleet/inventory/hosts');
  mkdirSync(deep, { recursive: true });
  expect(projectFolderFrom(deep)).toBe(installation);
  writeFileSync(join(folder, 'fleet', marker), '');
  expect(projectFolderFrom(deep)).toBe(join(folder, 'fleet'));
});
