import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { network } from '../../lab/layout.mjs';
import { download } from '../../lib/engine/resource/download/download.ts';
import { directory } from '../../lib/engine/resource/file/directory.ts';
import { drift, ok, type Resource, task } from '../../lib/engine/resource/resource.ts';
import { packages } from '../../lib/engine/resource/system/packages.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { fetching, keysOfArchives, keysUntil } from '../../lib/node/snapshot/ask-file.ts';
import { snapshotIsUploaded } from '../../lib/node/snapshot/uploaded.ts';
import type { Variables } from '../../lib/node/variables/variables.ts';
import { getStorageServer, startStorage } from '../storage-server.ts';
import { converge } from './converge.ts';
import { scratchHost } from './scratch.ts';

// What a role does with a storage, on a real host with systemd and with a real S3 gateway.

let host: TestHost;
let server: Awaited<ReturnType<typeof startStorage>>;
const content = randomBytes(20_000_000);
const sum = createHash('sha256').update(content).digest('hex');

beforeAll(async () => {
  await getStorageServer();
  const scratch = await scratchHost();
  host = scratch.host;
  server = await startStorage(network.gateway);
  return scratch.remove;
});

afterAll(() => server?.remove());

/** Does what a run does with resources: what is ok stays, what drifts is changed. */
async function run(resources: readonly Resource[]): Promise<string[]> {
  const changed: string[] = [];
  for (const resource of resources) {
    const verdict = await resource.check(host);
    if (verdict.is === 'ok') continue;
    await applyDrift(host, resource);
    expect(await resource.check(host), resource.name).toEqual({ is: 'ok' });
    changed.push(resource.name);
  }
  return changed;
}

/** Puts a small snapshot into a folder. */
const takes = (folder: string, before: string): Resource[] => [
  task('a snapshot is taken', {
    check: async (reader) => ((await reader.stat(`${folder}/manifest.json`)) ? ok : drift('not taken')),
    work: async (writer) => {
      const file = 'piece-000000.tar.zst';
      const manifest = JSON.stringify({ pieces: [{ file, sha256: sum, bytes: content.length }] });
      const spaced = manifest.replaceAll('":', '": ').replaceAll(',"', ', "');
      await writer.run({ stdin: before })`sh -s`;
      await writer.run`mkdir -p ${folder}`;
      await writer.run({ stdin: content })`cat >${`${folder}/${file}`}`;
      await writer.run({ stdin: spaced })`cat >${`${folder}/manifest.json`}`;
    },
  }),
];

test('a snapshot goes to a storage, and nothing of it and of the keys stays on the host', async () => {
  const vars = { paths: { data: '/srv/data' }, snapshot: { connections: 2 } } as Variables;
  await converge(host, directory('/srv/data'));
  const resources = snapshotIsUploaded({ vars }, server.storage(), 's3://snapshots/today', {
    take: takes,
    isWanted: (_, __, has) => (has('piece-000000.tar.zst', content.length) ? ok : drift('not this one')),
  });
  expect(await run(resources)).toContain('snapshot is in s3://snapshots/today');
  const folder = join(server.bucket, 'today');
  expect(readdirSync(folder).sort()).toEqual(['manifest.json', 'piece-000000.tar.zst']);
  expect(readFileSync(join(folder, 'piece-000000.tar.zst')).equals(content)).toBe(true);
  expect(
    (await host.$`find /srv/data /run/rpc-playbooks -type f`).lines().filter((path) => !path.endsWith('.sh')),
  ).toEqual([]);
  expect((await host.$`grep -rl AKIAROOT /run /srv /var/log /etc /tmp`).text()).toBe('');
  // Nothing is left to do, and nothing is taken again.
  expect(await run(resources)).toEqual([]);
});

test('an archive comes from a storage, by keys in memory', async () => {
  writeFileSync(join(server.bucket, 'archive'), content);
  const storage = server.storage();
  const source = fetching('s3://snapshots/archive', storage, keysOfArchives);
  const archive = download({ ...source, path: '/srv/archive', connections: 4, sha256: sum });
  const keys = keysUntil(storage, keysOfArchives, [archive], ['s3://snapshots/archive']);
  await run([packages('curl'), ...keys.before]);
  expect((await host.$`stat -c '%a %U' ${keysOfArchives}`).text()).toBe('600 root');
  await run(keys.needing);
  expect(await host.sha256('/srv/archive')).toBe(sum);
  expect(await host.stat(keysOfArchives)).toBeUndefined();
  // And none are put there again.
  expect(await run([...keys.before, ...keys.needing])).toEqual([]);
});
