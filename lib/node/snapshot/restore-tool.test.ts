import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import type { Variables } from '../variables/variables.ts';
import { goVersion, isAtLeast, restoreTool } from './restore-tool.ts';

test.each([
  ['go version go1.19.8 linux/amd64', '1.19.8'],
  ['go version go1.21 linux/amd64', '1.21'],
  ['go version devel go1.23-abcdef linux/arm64', '1.23'],
  ['', undefined],
])('%s', (output, version) => {
  expect(goVersion(output)).toBe(version);
});

test('versions are compared as numbers', () => {
  expect(isAtLeast('1.21', '1.21')).toBe(true);
  expect(isAtLeast('1.21.3', '1.9')).toBe(true);
  expect(isAtLeast('1.9', '1.21')).toBe(false);
  expect(isAtLeast('2.0', '1.21')).toBe(true);
});

test('a Go that is too old is told with both versions, and what can be done', async () => {
  const source = { repository: 'https://git.example/node', ref: 'v1', go_version: '1.21' };
  const vars = {
    node_binary: '/app/node',
    paths: { data: '/data' },
    network: { kind: 'test' },
    snapshot: { restore_with: 'source', source },
  } as unknown as Variables;
  const isNewEnough = restoreTool(vars, '/x').resources.find(({ name }) => name === 'Go is 1.21 or later');
  await expect(
    isNewEnough?.apply(fakeHost([[/go version/, 'go version go1.19.8 linux/amd64\n']])),
  ).rejects.toMatchObject({
    message: 'Go is 1.21 or later: Go 1.19.8 is installed, and the restore tool needs 1.21',
    hint: 'install a later Go in /usr/local/go/bin, lower snapshot.source.go_version, or set snapshot.restore_with: image',
  });
});

test.each([
  [undefined, 4],
  [1, 1],
  [16, 16],
])('pg_restore needs no tool; with restore_jobs %s it restores by %i jobs', (restore_jobs, jobs) => {
  const vars = { snapshot: { restore_with: 'pg_restore', restore_jobs } } as unknown as Variables;
  expect(restoreTool(vars, '/x')).toEqual({ resources: [], jobs });
});
