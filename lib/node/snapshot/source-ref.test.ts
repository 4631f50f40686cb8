import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { localHost } from '../testing/local-host.ts';
import { generationNames, generations } from '../variables/generation.ts';
import { repositoryHas } from './source-ref.ts';

const folder = mkdtempSync(join(tmpdir(), 'source-'));
const bare = join(folder, 'node.git');

/** The tags that the node's public repository has. */
const tags = ['v1.0.0', 'v2.1.0', 'v2.1.1', 'v3.1.0'];

/** A server of Git's own program for HTTP, and of plain files under /files/. */
const server = createServer((request, response) => {
  const path = new URL(request.url ?? '', 'http://h').pathname;
  if (path.startsWith('/files/')) {
    response.end(readFileSync(join(bare, path.slice('/files/'.length))));
    return;
  }
  if (path !== '/node.git/info/refs') {
    response.writeHead(404).end();
    return;
  }
  const lines = execFileSync('git', ['upload-pack', '--stateless-rpc', '--advertise-refs', bare]);
  response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
  response.end(Buffer.concat([Buffer.from('001e# service=git-upload-pack\n0000'), lines]));
});
let address = '';

beforeAll(async () => {
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', bare, '-c', 'user.name=a', '-c', 'user.email=a@b', ...words], {
      encoding: 'utf8',
    }).trim();
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare]);
  const tree = git('hash-object', '-t', 'tree', '-w', '/dev/null');
  git('update-ref', 'refs/heads/main', git('commit-tree', tree, '-m', 'a'));
  for (const tag of tags) git('tag', '--annotate', '--message', tag, tag, 'main');
  git('update-server-info');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const absent = 'it has no tag or branch v1.2.3; it has v1.0.0, v2.1.0, v2.1.1, v3.1.0';

test.each<[how: string, repository: () => string]>([
  ['a server of Git', () => `${address}/node.git`],
  ['a server of its files', () => `${address}/files/`],
  ['a path on the host', () => bare],
])('a tag that is not there is refused with those that are: %s', async (_, repository) => {
  const host = localHost();
  expect(await repositoryHas(host, repository(), 'v1.2.3')).toMatchObject({ is: 'drift', note: absent });
  for (const ref of ['v1.0.0', 'main', 'refs/tags/v2.1.1'])
    expect(await repositoryHas(host, repository(), ref)).toEqual({ is: 'ok' });
});

test('of many tags the nearest and the newest are named', async () => {
  const many = Array.from({ length: 20 }, (_, at) => `v0.${at}.0`);
  const list = [...tags, ...many].map((tag) => `${'a'.repeat(40)}\trefs/tags/${tag}\n`).join('');
  const host = fakeHost([[/git ls-remote/, list]]);
  expect(await repositoryHas(host, 'git@git.example:node.git', 'v0.3.1')).toMatchObject({
    note: 'it has no tag or branch v0.3.1; it has v0.3.0, v0.16.0, v0.17.0, v0.18.0, v0.19.0, v1.0.0, v2.1.0, v2.1.1, v3.1.0 and others',
  });
});

test('a commit is not looked for, and a repository that shows no list refuses nothing', async () => {
  expect(await repositoryHas(localHost(), bare, '0123abc')).toEqual({ is: 'ok' });
  expect(await repositoryHas(localHost(), `${address}/none`, 'v1.2.3')).toEqual({ is: 'ok' });
  // Without git a host asks no server that only git speaks to.
  expect(await repositoryHas(fakeHost([]), 'git@git.example:node.git', 'v1.2.3')).toEqual({ is: 'ok' });
});

test.each(generationNames)('the tag that is built by default is in the public repository: %s', (name) => {
  expect(tags).toContain(generations[name].sourceTag);
});
