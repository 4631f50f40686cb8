import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import clientTools from '../../../roles/client-tools.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';

const path = '/etc/apt/sources.list.d/pgdg.sources';
const ours = (uri = 'https://apt.postgresql.org/pub/repos/apt') => `Types: deb
URIs: ${uri}
Suites: noble-pgdg
Components: main
Signed-By: /usr/share/postgresql-common/pgdg/apt.postgresql.org.gpg
`;

// What apt 2.6 printed with PGDG in a pgdg.list as postgresql.org documents it.
const listed =
  "'http://apt.postgresql.org/pub/repos/apt/dists/noble-pgdg/InRelease' apt.postgresql.org_pub_repos_apt_dists_noble-pgdg_InRelease 0 \n";
const policy = `postgresql-client-15:
  Installed: (none)
  Candidate: 15.14-1.pgdg24.04+1
  Version table:
     15.14-1.pgdg24.04+1 500
        500 http://apt.postgresql.org/pub/repos/apt noble-pgdg/main amd64 Packages
`;

interface Host {
  /** Of pgdg.sources. */
  readonly text?: string;
  readonly has?: readonly string[];
  readonly policy?: string;
  readonly sources?: string;
  readonly changes?: Changes;
}

/** What the role would change on a host of Ubuntu 24.04, by the name of the resource. */
async function changed({ text, has = [], policy = '', sources = '', changes = [] }: Host) {
  const host = fakeHost(
    [
      [/^command -v dpkg-query/, ''],
      [/^apt-cache .*policy postgresql-client-15$/, policy],
      [/^apt-get --print-uris update$/, sources],
    ],
    {
      package: async (name) => ({ installed: has.includes(name), version: undefined }),
      read: async (name) => (name === path && text !== undefined ? Buffer.from(text) : undefined),
      stat: async (name) => (name === path && text !== undefined ? rootsFile : undefined),
      compare: async (_, hash) =>
        text !== undefined && createHash('sha256').update(text).digest('hex') === hash
          ? { same: true }
          : { same: false, content: text === undefined ? undefined : Buffer.from(text) },
    },
  );
  const distribution = { id: 'ubuntu', version: '24.04', codename: 'noble', title: 'Ubuntu 24.04' } as const;
  const context = {
    ...(await contextOf({ facts: { distribution }, changes })),
    roles: new Set(['packages']),
  };
  const names: string[] = [];
  for (const resource of await clientTools.resources(context)) {
    if ((await resource.check(host)).is === 'drift') names.push(resource.name);
  }
  return names;
}

const [common, file, client] = [
  'packages postgresql-common',
  `file ${path}`,
  'packages postgresql-client-15',
];

test("a bare host gets PostgreSQL's repository", async () => {
  expect(await changed({})).toEqual([common, file, client]);
});

test.each<[string, Host]>([
  ['whose lists were never fetched', { sources: listed }],
  ['that offers the client', { sources: listed, policy }],
  ['of a mirror with other names', { policy }],
  ['in a file of that name', { sources: listed, text: ours().replace('.gpg', '.asc') }],
])('a repository of the operator %s stays the only one', async (_, host) => {
  expect(await changed(host)).toEqual([client]);
});

test('a client that is there needs no repository', async () => {
  expect(await changed({ has: ['postgresql-client-15'] })).toEqual([]);
});

test('our own repository stays ours, and follows the inventory', async () => {
  const later = { has: ['postgresql-common', 'postgresql-client-15'], policy, sources: listed, text: ours() };
  expect(await changed(later)).toEqual([]);
  expect(await changed({ ...later, text: ours('https://mirror.example/pgdg') })).toEqual([file]);
  const changes: Changes = [[['vars', 'postgresql_repository'], 'https://mirror.example/pgdg']];
  expect(await changed({ ...later, changes })).toEqual([file]);
  // A run that was killed before the client was installed.
  expect(await changed({ ...later, has: ['postgresql-common'] })).toEqual([client]);
});
