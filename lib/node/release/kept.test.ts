import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { expect, test } from 'vitest';
import release from '../../../roles/release.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { sha256Of } from '../../engine/resource/file/content.ts';
import { fakeHost, rootsFile, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { renderHost } from '../render/render.ts';
import { contextOf } from '../testing/role-context.ts';

const script = new URL('../../../templates/host/release.sh', import.meta.url).pathname;

/**
 * A folder of releases, beside one rendered file, and an engine that has an image with two names
 * and 22 migrations.
 */
function place() {
  const folder = temporaryDirectory();
  const [bin, releases, file] = [join(folder, 'bin'), join(folder, 'state/releases'), join(folder, 'a.toml')];
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'docker'),
    `#!/bin/sh
case $1 in
  container) echo "registry:5000/node:v1 sha256:$(cat ${folder}/id)" ;;
  image) printf 'mirror/other@sha256:1\\nregistry:5000/node@sha256:2\\n' ;;
  exec) echo 22 ;;
esac`,
  );
  chmodSync(join(bin, 'docker'), 0o755);
  const keep = (text: string, { id = 'a', user = '' } = {}) => {
    writeFileSync(file, text);
    writeFileSync(join(folder, 'id'), id);
    execFileSync('sh', [script, releases, 'json-rpc', user, 'state_db', file], {
      env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` },
    });
    return Number(readlinkSync(join(releases, 'current')));
  };
  const at = (path: string) => join(releases, path);
  const served = () => readFileSync(at('served'), 'utf8').trimEnd().split('\n').map(Number);
  return { keep, at, file, served };
}

test('a release has the files and images, and root alone can read it', () => {
  const { keep, at, file } = place();
  expect(keep('Password = "x"', { user: 'state' })).toBe(1);
  expect(readFileSync(at('1/files/a.toml'), 'utf8')).toBe('Password = "x"');
  expect(readFileSync(at('1/manifest'), 'utf8')).toMatch(
    new RegExp(
      `^file [0-9a-f]{64} ${file}\nimage json-rpc registry:5000/node:v1 sha256:a registry:5000/node@sha256:2\nmigrations 22\n$`,
    ),
  );
  for (const path of ['', '1', '1/files', '1/manifest', '1/made'])
    expect(statSync(at(path)).mode & 0o077).toBe(0);
});

test('another file or image makes a new release, what was deployed before keeps its number, and five are kept', () => {
  const { keep, at } = place();
  expect([keep('1'), keep('2'), keep('2', { id: 'b' }), keep('1'), keep('3')]).toEqual([1, 2, 3, 1, 4]);
  expect([keep('4'), keep('5'), keep('6')]).toEqual([5, 6, 7]);
  expect([1, 2, 3, 4, 5, 6, 7].filter((number) => existsSync(at(String(number))))).toEqual([3, 4, 5, 6, 7]);
});

test('the release that is deployed is never removed', () => {
  const { keep, at } = place();
  for (const text of ['1', '2', '3', '4', '5']) keep(text);
  expect(keep('1')).toBe(1);
  writeFileSync(at('incomplete'), '');
  expect(keep('6')).toBe(6);
  expect(keep('2')).toBe(2);
});

test('what was undone is not among those that served, and the one that served before is never removed', () => {
  const { keep, at, served } = place();
  keep('a');
  expect(served()).toEqual([1]);
  keep('b');
  expect(served()).toEqual([1, 2]);
  keep('a');
  expect(keep('c')).toBe(3);
  expect(served()).toEqual([1, 3]);
  for (const text of ['d', 'e', 'f']) keep(text);
  expect([keep('b'), served()]).toEqual([2, [3, 4, 5, 6, 2]]);
  expect([keep('g'), served()]).toEqual([7, [3, 4, 5, 6, 2, 7]]);
  expect([1, 2, 3].filter((number) => existsSync(at(String(number))))).toEqual([2, 3]);
  keep('h');
  expect(existsSync(at('2'))).toBe(false);
});

test('a move that was killed before its last step is made again, and an older version has left no list', () => {
  const { keep, at, served } = place();
  for (const text of ['a', 'b', 'c']) keep(text);
  const goTo = (number: number) => {
    unlinkSync(at('current'));
    symlinkSync(String(number), at('current'));
  };
  goTo(2);
  expect([keep('c'), served()]).toEqual([3, [1, 2, 3]]);
  keep('b');
  goTo(3);
  expect([keep('b'), served()]).toEqual([2, [1, 2]]);
  unlinkSync(at('served'));
  expect([keep('d'), served()]).toEqual([4, [1, 2, 4]]);
});

test('a release waits for files and containers; one that is not kept yet is drift, and one that is kept is ok', async () => {
  const context = await contextOf({ group: 'rpc' });
  const [, keep] = await release.resources(context);
  const { files, services } = await renderHost(context);
  const sums = new Map(files.map(({ path, content }) => [path, sha256Of(Buffer.from(content.text))]));
  const inPlace = { sha256: async (path: string) => sums.get(path) };
  const running = { container: async () => runningContainer };
  expect(await keep?.check(fakeHost([], running))).toEqual({
    is: 'unknown',
    until: '/opt/rpc-node/docker-compose.yml is in place',
  });
  expect(await keep?.check(fakeHost([], inPlace))).toEqual({ is: 'unknown', until: 'pool-db is running' });
  const host = fakeHost([[/grep -r/, '']], { ...inPlace, ...running });
  expect(await keep?.check(host)).toMatchObject({ is: 'drift', differences: [{ was: 'no release' }] });
  const lines = [
    ...[...sums].map(([path, sum]) => `1/manifest:file ${sum} ${path}`),
    ...Object.entries(services).flatMap(([name, has]) =>
      has ? [`1/manifest:image ${name} b sha256:1 -`] : [],
    ),
  ];
  const link = { stat: async () => ({ ...rootsFile, type: 'link' as const, target: '1' }) };
  const image = async () => ({ ...runningContainer, imageId: 'sha256:1' });
  // Also while a file was changed by hand: its own task puts it right.
  const kept = fakeHost([[/grep -r/, lines.join('\n')]], { ...link, container: image });
  expect(await keep?.check(kept)).toEqual({ is: 'ok' });
  const moved = fakeHost([[/grep -r/, lines.join('\n')]], { ...link, ...inPlace, ...running });
  expect(await keep?.check(moved)).toMatchObject({ is: 'drift', differences: [{ was: 'release 1' }] });
});
