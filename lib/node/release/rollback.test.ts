import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Reader } from '../../engine/host/host.ts';
import { describeProblem } from '../../engine/problem/problem.ts';
import { sha256Of } from '../../engine/resource/file/content.ts';
import { fakeHost, rootsFile, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { renderHost } from '../render/render.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';
import { readReleases } from './manifest.ts';
import { putBack } from './rollback.ts';

type Group = 'rpc' | 'database';

/**
 * The newest release of a host: as an inventory with these changes renders it, with some lines of
 * its manifest replaced.
 */
interface Kept {
  readonly group?: Group;
  /** The group that it was in. */
  readonly wasIn?: Group;
  readonly was?: Changes;
  readonly number?: number;
  readonly current?: number;
  readonly files?: (text: string) => string;
  readonly migrations?: number;
}

async function hostWith({
  group = 'rpc',
  was = [],
  number = 3,
  current = 3,
  files = (text) => text,
  migrations,
}: Kept) {
  const rendered = await renderHost(await contextOf({ group, changes: was }));
  const services = Object.entries(rendered.services).flatMap(([name, service]) =>
    service ? [{ name, service }] : [],
  );
  const manifest = [
    ...rendered.files.map(({ path, content }) => `file ${sha256Of(Buffer.from(content.text))} ${path}`),
    ...services.map(
      ({ name, service }) => `image ${name} ${service.image} sha256:${name} registry/${name}@sha256:0`,
    ),
    ...(migrations === undefined ? [] : [`migrations ${migrations}`]),
  ];
  const lines = manifest.map((line) => `${number}/manifest:${line}`).join('\n');
  return {
    rendered,
    reader: fakeHost([[/grep -r/, lines]], {
      stat: async (path) => ({
        ...rootsFile,
        type: 'link',
        target: path.endsWith('/current') ? String(current) : '',
      }),
      read: async (path) => {
        const file = rendered.files.find(({ name }) => path.endsWith(`/releases/${number}/files/${name}`));
        return file && Buffer.from(files(file.content.text));
      },
      sha256: async (path) => {
        const file = rendered.files.find((each) => each.path === path);
        return file && sha256Of(Buffer.from(file.content.text));
      },
      container: async (name) => {
        const image = services.find((each) => each.name === name)?.service.image ?? '';
        return { ...runningContainer, image, imageId: `sha256:${name}` };
      },
      sql: async () => ({ ok: true, rows: [['22']] }),
    }),
  };
}

/** Asks for release 3 of a host, by the lab's inventory. */
async function asked(
  kept: Kept,
  { to = 3, database = {} }: { to?: number | undefined; database?: Kept } = {},
) {
  const { host, hosts } = await contextOf({ group: kept.group ?? 'rpc' });
  const { reader } = await hostWith(kept.wasIn ? { ...kept, group: kept.wasIn } : kept);
  const onDatabase = async <T>(read: (reader: Reader) => Promise<T>) =>
    read((await hostWith({ group: 'database', migrations: 22, ...database })).reader);
  return { host, hosts, reader, onDatabase, ...(to > 0 && { to }) };
}

const setting: Changes = [[['vars', 'node_config'], { RPC: { MaxRequestsPerIPAndSecond: 7 } }]];
const version = (tag: string): Changes => [[['vars', 'images', 'node'], `172.30.77.10:5000/node:${tag}`]];

test('a host as its release has it: files, hashes of the containers, images and their ids', async () => {
  const all = await asked(
    { was: [...setting, ...version('v3.0.9')] },
    { database: { was: version('v3.0.9') } },
  );
  const released = await putBack(all);
  const { rendered } = await hostWith({ was: [...setting, ...version('v3.0.9')] });
  const again = await renderHost({ ...released, vars: released.host.vars, hosts: all.hosts });
  const texts = (files: typeof rendered.files) => files.map(({ path, content }) => [path, content.text]);
  expect(texts(again.files)).toEqual(texts(rendered.files));
  expect(again.services.prover).toEqual({
    ...rendered.services.prover,
    pin: {
      container: 'prover',
      name: '172.30.77.10:5000/prover:v6.0.2',
      id: 'sha256:prover',
      digest: 'registry/prover@sha256:0',
    },
  });
  expect(again.services['json-rpc']?.configHash).toBe(rendered.services['json-rpc']?.configHash);
  expect([again.listens, again.serves, again.ports]).toEqual([
    rendered.listens,
    rendered.serves,
    rendered.ports,
  ]);
  expect(released.host.vars.images.node).toBe('172.30.77.10:5000/node:v3.0.9');
  // A diff shows no password, also not an older one.
  const config = again.files.find(({ name }) => name === 'node.config.toml');
  expect(config?.content.mask('Password = "another"')).not.toContain('another');
});

test('only who asks for the release gets its files', async () => {
  const all = await asked({ was: setting });
  const { host, release } = await putBack(all);
  const settingOf = async (more: object) => {
    const { files } = await renderHost({ host, vars: host.vars, hosts: all.hosts, ...more });
    const text = files.find(({ name }) => name === 'node.config.toml')?.content.text;
    return text?.includes('MaxRequestsPerIPAndSecond = 7');
  };
  expect([await settingOf({ release }), await settingOf({}), await settingOf({ release })]).toEqual([
    true,
    false,
    true,
  ]);
});

test('without a number it is the release before the current one', async () => {
  const all = await asked({ number: 2, was: setting }, { to: 0 });
  const newer = await hostWith({});
  const [older, own] = [all.reader, newer.reader];
  const reader = {
    ...own,
    $: (async (...words: Parameters<typeof own.$>) => {
      const [one, other] = [await own.$(...words), await older.$(...words)] as never as { stdout: string }[];
      return { stdout: `${one?.stdout}\n${other?.stdout}` };
    }) as never,
    read: async (path: string) => (await own.read(path)) ?? older.read(path),
  };
  const released = await putBack({ ...all, reader });
  const { files } = await renderHost({ ...released, vars: released.host.vars, hosts: all.hosts });
  expect(files.find(({ name }) => name === 'node.config.toml')?.content.text).toContain(
    'MaxRequestsPerIPAndSecond = 7',
  );
  // What is deployed is no release: the current one is put back.
  const changed = { ...reader, sha256: async () => 'x' };
  const back = await putBack({ ...all, reader: changed });
  const { files: current } = await renderHost({ ...back, vars: back.host.vars, hosts: all.hosts });
  expect(current.find(({ name }) => name === 'node.config.toml')?.content.text).not.toContain('Second = 7');
});

test.each([
  ['2 was undone', '1\n3\n', 3, 1],
  ['1 was deployed once more', '2\n1\n3\n', 3, 1],
  ['the last that served before is gone', '2\n9\n3\n', 3, 2],
  ['a run was killed before it moved on to 3', '1\n2\n3\n', 2, 1],
  ['a run was killed before it undid 3', '1\n2\n', 3, 2],
  ['2 was undone, and nothing came after it', '1\n', 1, undefined],
  ['an older version has left no list', undefined, 3, 2],
])('the release before is the one that served before: %s', async (_, served, current, previous) => {
  const host = fakeHost(
    [[/grep/, '1/manifest:migrations 6\n2/manifest:migrations 6\n3/manifest:migrations 6']],
    {
      stat: async () => ({ ...rootsFile, type: 'link', target: String(current) }),
      read: async () => (served === undefined ? undefined : Buffer.from(served)),
    },
  );
  expect((await readReleases(host)).find(({ isPrevious }) => isPrevious)?.number).toBe(previous);
});

test.each<[what: string, Kept, Parameters<typeof asked>[1], words: string]>([
  ['no such release', {}, { to: 4 }, 'rpc-1 has no release 4; it has: 3'],
  ['none before', {}, { to: 0 }, 'rpc-1 has no release before 3, which is deployed'],
  [
    'services',
    { wasIn: 'database' },
    {},
    'release 3 of rpc-1 has other services (state-db) than the inventory',
  ],
  ['no release', { current: 9 }, { to: 0 }, 'rpc-1 has no release\n  a deploy keeps one'],
  [
    'a changed file',
    { files: (text) => `${text} ` },
    {},
    'release 3 is damaged: /var/lib/rpc-node/releases/3/files/docker-compose.yml is not as it was kept',
  ],
  [
    'ports',
    { was: [[['vars', 'ports'], { rpc_http: 9999 }]] },
    {},
    'release 3 of rpc-1 has other ports of json-rpc than the inventory',
  ],
  [
    'folders',
    { was: [[['vars', 'paths'], { data: '/other' }]] },
    {},
    'release 3 of rpc-1 has other folders of pool-db than the inventory',
  ],
  [
    'generation',
    { was: [[['vars', 'node_binary'], '/app/other']] },
    {},
    'release 3 of rpc-1 has another generation of the node than the inventory',
  ],
  [
    'password',
    { was: [[['vars', 'credentials', 'pool', 'password'], 'env:ROLLBACK_TEST_PASSWORD']] },
    {},
    'release 3 of rpc-1 has another password of the pool database than the inventory',
  ],
  [
    'way to layer 1',
    {
      was: [
        [['vars', 'network', 'l1_rpc_url'], undefined],
        [
          ['vars', 'network', 'l1_rpc_urls'],
          ['http://a.example', 'http://b.example'],
        ],
      ],
    },
    {},
    'release 3 of rpc-1 has another way to layer 1 (network.l1_rpc_urls, ports.layer1) than the inventory',
  ],
  [
    'a migration, on the server',
    { group: 'database', migrations: 8 },
    {},
    'a database migration lies in between: the state database has 22, and release 3 of db-1 (v3.1.0) needs 8',
  ],
  [
    'a migration and another generation, which no deploy can put back',
    {
      group: 'database',
      migrations: 8,
      was: [...version('v3.0.9'), [['vars', 'node_binary'], '/app/other']],
    },
    {},
    'needs 8\n  no version of the node undoes a migration: deploy one that knows them, or go back to a snapshot or a backup from before',
  ],
  [
    'a migration, elsewhere',
    { was: version('v2.0.0') },
    { database: { was: version('v3.1.0') } },
    'release 3 of rpc-1 (v2.0.0) needs an unknown number',
  ],
])('a release that does not fit is refused with the reason: %s', async (_, kept, options, words) => {
  process.env.ROLLBACK_TEST_PASSWORD = 'another-password-1';
  const refused = await putBack(await asked(kept, options)).then(
    () => 'it was put back',
    (error: unknown) => describeProblem(error as never),
  );
  expect(refused).toContain(words);
  expect(refused).not.toContain('another-password-1');
});

test('releases are read newest first, with who made them', async () => {
  const made = {
    token: 't',
    who: 'a@b',
    playbook: 'deploy',
    inventory: 'lab',
    since: 's',
    process: { pid: 1, start: '', machine: '' },
  };
  const host = fakeHost(
    [
      [
        /grep/,
        `9/manifest:migrations 6\n10/manifest:image prover a/b:1 sha256:1 -\n10/made:${JSON.stringify(made)}\n`,
      ],
    ],
    { stat: async () => ({ ...rootsFile, type: 'link', target: '9' }) },
  );
  expect(await readReleases(host)).toEqual([
    {
      number: 10,
      isCurrent: false,
      isPrevious: false,
      files: new Map(),
      images: [{ container: 'prover', name: 'a/b:1', id: 'sha256:1', digest: undefined }],
      migrations: undefined,
      made,
    },
    {
      number: 9,
      isCurrent: true,
      isPrevious: false,
      files: new Map(),
      images: [],
      migrations: 6,
      made: undefined,
    },
  ]);
});

test('a release of the version before is read whole, with the version that made it', async () => {
  const kept = (name: string) =>
    readFileSync(new URL(`testdata/${name}-fb38ac533be7`, import.meta.url), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => `2/${name}:${line}`);
  const host = fakeHost([[/grep/, [...kept('manifest'), ...kept('made')].join('\n')]], {
    stat: async () => ({ ...rootsFile, type: 'link', target: '2' }),
  });
  const [release, ...others] = await readReleases(host);
  expect(others).toEqual([]);
  expect([...(release?.files.keys() ?? [])]).toEqual([
    '/opt/rpc-node/docker-compose.yml',
    '/opt/rpc-node/node.config.toml',
    '/opt/rpc-node/prover.config.json',
  ]);
  expect(release?.images.map(({ container, name }) => `${container} ${name}`)).toEqual([
    'pool-db 172.30.77.10:5000/postgres:15',
    'prover 172.30.77.10:5000/prover:v6.0.2',
    'json-rpc 172.30.77.10:5000/node:v3.1.0',
  ]);
  expect(release?.made).toMatchObject({ version: '0.1.0+14bf9c993ebd', inventory: 'testnet' });
});
