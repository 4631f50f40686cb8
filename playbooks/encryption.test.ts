import { expect, test } from 'vitest';
import { authorityFiles } from '../lib/node/encryption/testing/authority.ts';
import type { Changes } from '../lib/node/testing/lab-deployment.ts';
import { writeLabDeployment } from '../lib/node/testing/written-lab-deployment.ts';
import { folderForTest } from '../test/deploy/lab-inventory.ts';
import { runPlaybook } from '../test/deploy/playbook.ts';

// Which plays of encryption a host has, as --list-tasks shows them. The host is this machine, so
// that no other one is asked.

process.env.COPY_PASSWORD = 'copy.Pw~4567';
const hosts = {
  database: 'db-1',
  rpc: 'rpc-1',
  replica: 'replica-1',
  backup: 'backup-1',
  gateway: 'gw-1',
} as const;
type Group = keyof typeof hosts;
const groups = Object.keys(hosts) as Group[];

/** A deployment with a host in each group, of which one is this machine. */
function deployment(own: Group, all: readonly Group[]): Changes {
  const ofGroups = all.map((group) => {
    const host = { address: `10.0.0.${groups.indexOf(group) + 1}` };
    const here = group === own ? { connection: 'local' } : {};
    return [['groups', group], { [hosts[group]]: { ...host, ...here } }] as const;
  });
  const copies = all.filter((group) => group === 'replica' || group === 'backup');
  return [...ofGroups, ...copies.map((group) => [['vars', group, 'password'], 'env:COPY_PASSWORD'] as const)];
}

/** Options that a playbook needs. */
const wordsOf: Readonly<Record<string, readonly string[]>> = {
  switch: ['--to', hosts.database],
  recover: ['--to-time', 'latest'],
};

/** The plays of a host and their roles, in order: `PLAY: ROLE`. */
async function rolesOf(own: Group, all: readonly Group[], tls: Changes, name = 'deploy') {
  const inventory = writeLabDeployment(await folderForTest(), [...deployment(own, all), ...tls]);
  const words = ['-i', inventory, '--list-tasks', '--limit', hosts[own]];
  const { exitCode, stdout, stderr } = await runPlaybook(name, ...words, ...(wordsOf[name] ?? []));
  expect(exitCode, stderr).toBe(0);
  let play = '';
  return stdout.split('\n').flatMap((line) => {
    play = /^ {2}play: (.*)$/.exec(line)?.[1] ?? play;
    return /^ {4}\S/.test(line) ? `${play}: ${line.trim()}` : [];
  });
}

const trusts = 'certificate authority: certificate-authority';
const refuses = 'encryption: encryption';
const plays = [trusts, refuses];

test.each([
  ['database', [refuses]],
  ['rpc', [trusts]],
  ['replica', [trusts, refuses]],
  ['backup', [trusts]],
] as const)('with tls, the host in group %s has its plays of encryption', async (own, expected) => {
  const { changes } = await authorityFiles();
  const all = groups.filter((group) => group !== 'gateway');
  for (const name of ['deploy', 'switch']) {
    const found = await rolesOf(own, all, changes, name);
    expect(found.filter((each) => plays.includes(each))).toEqual(expected);
    // It is left out where a client fails, and nothing comes after it.
    if (found.includes(refuses)) expect(found.at(-1)).toBe(refuses);
  }
});

test('with tls and no other group than those of the node, both plays have hosts', async () => {
  const { changes } = await authorityFiles();
  const node: Group[] = ['database', 'rpc'];
  expect(await rolesOf('rpc', node, changes)).toContain(trusts);
  expect(await rolesOf('database', node, changes)).toContain(refuses);
});

test.each(['database', 'rpc', 'replica', 'backup'] as const)(
  'without tls, the host in group %s has no play of encryption',
  async (own) => {
    const found = await rolesOf(own, groups, []);
    expect(found.filter((each) => plays.includes(each))).toEqual([]);
  },
);

test('clients know the authority before anything changes on a server', async () => {
  const { changes } = await authorityFiles();
  const found = await rolesOf('rpc', groups, changes);
  const after = found.slice(found.indexOf(trusts) + 1);
  expect(after.find((each) => !each.startsWith('certificate authority'))).toMatch(/^prepare servers: /);
});

test('behind gateways, the configuration of an RPC server waits for its turn, with tls and without', async () => {
  const { changes } = await authorityFiles();
  for (const tls of [changes, []]) {
    const found = (all: readonly Group[]) => rolesOf('rpc', all, tls);
    const of = (all: readonly string[]) => all.filter((each) => each.endsWith(': configuration'));
    expect(of(await found(groups))).toEqual(['RPC servers: configuration']);
    expect(of(await found(['database', 'rpc']))).toEqual(['configuration: configuration']);
  }
});

test('a recovery brings the authority to the backup host first', async () => {
  const { changes } = await authorityFiles();
  const found = await rolesOf('backup', groups, changes, 'recover');
  expect(found.indexOf(trusts)).toBeGreaterThan(-1);
  expect(found.indexOf(trusts)).toBeLessThan(found.indexOf('recover from the backup: recovery'));
  expect(await rolesOf('backup', groups, [], 'recover')).not.toContain(trusts);
});
