import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import clientTools from '../../../roles/client-tools.ts';
import docker from '../../../roles/docker.ts';
import packages from '../../../roles/packages.ts';
import timeSync from '../../../roles/time-sync.ts';

import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { describeVerdict } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift, type TestHost } from '../../engine/resource/testing/test-host.ts';
import { contextOf, type Given } from '../testing/role-context.ts';

/** A host that keeps what it installs, and all its runs of apt. */
function bareHost(
  has: readonly string[] = [],
  docker = '',
): { readonly host: TestHost; readonly aptRuns: string[][] } {
  const installed = new Set(has);
  const aptRuns: string[][] = [];
  const reads: Parameters<typeof fakeHost>[0] = [
    [/^command -v dpkg-query/, ''],
    [/snap\/docker\/current/, docker],
  ];
  const host = fakeHost(reads, {
    package: async (name) => ({ installed: installed.has(name), version: undefined }),
    run: shell(async (command) => {
      const names = /^# apt-get install (.*)\n/.exec(command)?.[1]?.split(' ') ?? [];
      for (const name of names) installed.add(name);
      aptRuns.push(names);
      return new Output(0, Buffer.alloc(0), '');
    }),
  });
  return { host, aptRuns };
}

/** Makes the packages of these roles in order, as a run of them does. */
async function deploy(
  roles: readonly (typeof docker)[],
  { host, aptRuns }: ReturnType<typeof bareHost>,
  given: Given,
) {
  const context = { ...(await contextOf(given)), roles: new Set(roles.map(({ name }) => name)) };
  const names: string[] = [];
  for (const role of roles) {
    for (const resource of await role.resources(context)) {
      names.push(resource.name);
      if (resource.name.startsWith('packages ')) await applyDrift(host, resource);
    }
  }
  expect(names).toEqual([...new Set(names)]);
  return { aptRuns, names };
}

const all = [packages, clientTools, timeSync, docker];
const wanted = [
  'ca-certificates',
  'curl',
  'tar',
  'postgresql-client-15',
  'chrony',
  'docker.io',
  'docker-compose',
  'iptables',
];

test('the packages of a bare server are one transaction, and without role packages each role installs its own', async () => {
  const { aptRuns, names } = await deploy(all, bareHost(), {});
  expect(aptRuns).toEqual([wanted]);
  expect(names.filter((name) => name.startsWith('packages '))).toEqual([
    'packages of client-tools, time-sync, docker',
  ]);
  const moving = names.indexOf("no move of docker's data is unfinished");
  expect(moving).toBeLessThan(names.indexOf('packages of client-tools, time-sync, docker'));

  const alone = await deploy([clientTools, timeSync, docker], bareHost(), {});
  expect(alone.aptRuns.flat()).toEqual(wanted);
  expect(alone.aptRuns).toHaveLength(3);
});

test('a role that is left out installs nothing', async () => {
  const { aptRuns } = await deploy([packages, timeSync], bareHost(), {});
  expect(aptRuns).toEqual([['chrony']]);
});

test.each<[string, { has?: string[]; there: string; installs: string[]; ubuntu?: true }]>([
  [
    'an engine from Docker gets its own Compose',
    { there: 'engine docker-ce\nclient\n', installs: ['docker-compose-plugin'] },
  ],
  [
    'an engine from Docker whose client is missing',
    { has: [], there: 'engine docker-ce\n', installs: ['docker-ce-cli', 'docker-compose-plugin'] },
  ],
  [
    'an engine of Azure gets its own Compose',
    { has: ['moby-cli'], there: 'running\nengine moby-engine\nclient\n', installs: ['moby-compose'] },
  ],
  [
    "the distribution's engine with Docker's plugin needs nothing",
    { ubuntu: true, there: 'running\nengine docker.io\nclient\ncompose 2\n', installs: [] },
  ],
  [
    'an engine that no package installed, and a Compose that answers',
    { there: 'running\nengine \nclient\ncompose 2\n', installs: [] },
  ],
  [
    "the distribution's engine without Compose",
    { has: ['docker.io'], there: 'engine docker.io\nclient\n', installs: ['docker-compose'] },
  ],
  [
    'a kernel with AppArmor, whose parser an engine needs to start a container',
    { has: [], there: 'no apparmor_parser\n', installs: ['docker.io', 'docker-compose', 'apparmor'] },
  ],
  [
    'an engine that starts no container without the parser of AppArmor',
    {
      has: ['docker.io', 'docker-compose'],
      there: 'no apparmor_parser\nrunning\nengine docker.io\nclient\ncompose 1\n',
      installs: ['apparmor'],
    },
  ],
])('%s', async (_, { has = ['docker-ce', 'docker-ce-cli'], there, installs, ubuntu }) => {
  const distribution = { id: 'ubuntu', version: '24.04', codename: 'noble', title: 'Ubuntu 24.04' } as const;
  const { aptRuns } = await deploy(
    [packages, docker],
    bareHost([...has, 'iptables'], there),
    ubuntu ? { facts: { distribution } } : {},
  );
  expect(aptRuns.flat()).toEqual(installs);
});

test('an engine of another source without Compose is left to the operator', async () => {
  for (const there of ['engine \nclient\n', 'engine docker-ee\n']) {
    const context = { ...(await contextOf({})), roles: new Set(['packages', 'docker']) };
    const resources = await packages.resources(context);
    const resource = resources.find(({ name }) => name.startsWith('packages of'));
    if (!resource) throw new Error('there is no resource');
    await expect(applyDrift(bareHost([], there).host, resource)).rejects.toMatchObject({
      message: 'docker is there without a client and a Compose that answer, and its source is not known',
      hint: 'install Compose version 2 from where that engine is from; docker compose version has to answer',
    });
  }
});

test('a client from a repository of its own is installed after it', async () => {
  const distribution = { id: 'ubuntu', version: '24.04', codename: 'noble', title: 'Ubuntu 24.04' } as const;
  const { aptRuns } = await deploy(all, bareHost(), { facts: { distribution } });
  expect(aptRuns).toEqual([
    ['ca-certificates', 'curl', 'tar', 'chrony', 'docker.io', 'docker-compose-v2', 'iptables'],
    ['postgresql-common'],
    ['postgresql-client-15'],
  ]);
});

test('a host without apt is refused with what to install by hand', async () => {
  const context = { ...(await contextOf({})), roles: new Set(['time-sync']) };
  const [resource] = await packages.resources(context);
  if (!resource) throw new Error('there is no resource');
  await expect(applyDrift(fakeHost([]), resource)).rejects.toMatchObject({
    message: 'there is no dpkg and apt on this host, so nothing can be installed',
    hint: 'use Debian or Ubuntu, or install by hand: chrony',
  });
});

const simulated = readFileSync(
  new URL('../../engine/resource/system/testdata/apt-replaced.txt', import.meta.url),
  'utf8',
);

test.each(['systemd-timesyncd', 'ntpsec'])('a host with %s and time servers', async (name) => {
  const context = await contextOf({ changes: [[['vars', 'time_servers'], ['t.example']]] });
  const host = fakeHost(
    [
      [/^command -v dpkg-query/, ''],
      [/apt-get -q -s/, simulated.replaceAll('systemd-timesyncd', name)],
    ],
    { package: async (each) => ({ installed: each !== 'chrony', version: '252.38-1~deb12u1' }) },
  );
  const [resource] = await packages.resources({ ...context, roles: new Set(['client-tools', 'time-sync']) });
  if (!resource) throw new Error('there is no resource');
  expect(describeVerdict(await resource.check(host))).toBe(
    name === 'ntpsec'
      ? 'to install chrony, apt would remove ntpsec 252.38-1~deb12u1'
      : 'chrony: not installed -> 4.3-2+deb12u3; systemd-timesyncd: 252.38-1~deb12u1 -> replaced by chrony',
  );
});
