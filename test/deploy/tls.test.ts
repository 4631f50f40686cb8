import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { newAuthority, newKey } from '../../lib/node/encryption/openssl.ts';
import { labHosts, onHost, started, stateSql } from './lab-host.ts';
import { folderForTest, labInventoryWith } from './lab-inventory.ts';
import { runPlaybook } from './playbook.ts';

// Encryption between the hosts of the lab: rpc-1 reads the Database+Sync server, and rpc-2 is its
// replica, then the backup host.

let inventory: string;
let folder: string;
let own: Record<string, unknown>;
const rpc2 = { 'rpc-2': { address: '172.30.77.13', user: 'operator' } };

const deploy = (...args: readonly string[]) =>
  runPlaybook('deploy', '--inventory', inventory, '--yes', ...args);
const until = (what: () => Promise<unknown>, expected: unknown) =>
  expect.poll(what, { timeout: 120_000, interval: 1000 }).toEqual(expected);

/** Connections of other hosts: role or application, whether they are encrypted, and how many. */
const connections = () =>
  stateSql(
    `select distinct host(client_addr), s.ssl from pg_stat_activity a join pg_stat_ssl s using (pid)
     where client_addr in ('172.30.77.12', '172.30.77.13') order by 1, 2`,
  );

async function converges(...args: readonly string[]) {
  const { exitCode, output } = await deploy(...args);
  expect(exitCode, output).toBe(0);
}

beforeAll(async () => {
  await labUp({ log: console.error });
  await resetHosts([...labHosts]);
  folder = await folderForTest();
  const key = newKey();
  const certificate = await newAuthority('lab', key);
  await writeFile(join(folder, 'ca.pem'), certificate);
  await writeFile(join(folder, 'ca.key'), key.reveal(), { mode: 0o600 });
  await writeFile(join(folder, 'password'), `${randomBytes(12).toString('hex')}\n`, { mode: 0o600 });
  own = { ca: join(folder, 'ca.pem'), key: `file:${join(folder, 'ca.key')}` };
  inventory = await labInventoryWith({
    'groups.rpc.rpc-2': undefined,
    'groups.replica': rpc2,
    // rpc-1 shows what a node does at the Database+Sync server.
    'groups.rpc.rpc-1.vars': { replica: { use: 'none' } },
    'vars.replica': { password: `file:${join(folder, 'password')}` },
    'vars.tls': own,
  });
  await converges();
});

test('bare hosts are deployed with encryption, and a second run has nothing to do', async () => {
  const { exitCode, output } = await deploy('--check');
  expect(exitCode, output).toBe(0);
  const status = await runPlaybook('status', '--inventory', inventory, '--timeout', '120');
  expect(status.exitCode, status.output).toBe(0);
});

test('node, prover and replica have no connection in plain text', async () => {
  await until(connections, '172.30.77.12|t\n172.30.77.13|t');
  expect(
    await onHost(
      'rpc-2',
      "docker exec state-db grep -c 'sslmode=verify-full' /var/lib/postgresql/data/postgresql.auto.conf",
    ),
  ).toBe('1');
});

test('plain text from another host is refused', async () => {
  const login = (mode: string) =>
    onHost(
      'rpc-1',
      `PGPASSWORD=x psql -XAtq 'host=172.30.77.11 user=state_user dbname=state_db sslmode=${mode}' 2>&1 || :`,
    );
  expect(await login('disable')).toContain('pg_hba.conf rejects connection for host "172.30.77.12"');
  expect(await login('require')).toContain('password authentication failed');
});

test('no host has the key of the authority, and no data directory that of a server', async () => {
  const line = (await readFile(join(folder, 'ca.key'), 'utf8')).split('\n')[1] ?? '';
  for (const host of labHosts) {
    expect(
      await onHost(
        host,
        `grep -rlF -e '${line}' /etc /opt /root /home /run/rpc-playbooks /var/lib/rpc-node 2>/dev/null || :`,
      ),
    ).toBe('');
    expect(await onHost(host, "grep -rl 'PRIVATE KEY' /data/state-db 2>/dev/null || :")).toBe('');
  }
});

test('a certificate is renewed by a reload', async () => {
  const before = await started('db-1');
  await onHost('db-1', "sed -i '/BEGIN CERTIFICATE/,$d' /etc/rpc-node/tls/server.pem");
  const status = await runPlaybook('status', '--inventory', inventory, '--timeout', '120');
  expect(status.exitCode).toBe(1);
  expect(status.output).toContain('state-db: has no certificate: a deploy makes a new one');
  await converges();
  expect(await started('db-1')).toBe(before);
  await until(connections, '172.30.77.12|t\n172.30.77.13|t');
});

test('the backup host verifies the server', async () => {
  await resetHosts(['rpc-2']);
  inventory = await labInventoryWith({
    'groups.rpc.rpc-2': undefined,
    'groups.backup': rpc2,
    'vars.backup': { password: `file:${join(folder, 'password')}` },
    'vars.tls': own,
  });
  await converges();
  await until(connections, '172.30.77.12|t\n172.30.77.13|t');
  await until(
    () =>
      onHost('rpc-2', 'systemctl start rpc-node-backup-check.service; cat /var/lib/rpc-node/backup/problems'),
    '',
  );
  expect(await onHost('rpc-2', 'grep -c sslmode=verify-full /etc/barman.d/state-db.conf')).toBe('2');
});

test('encryption ends without tls in the inventory', async () => {
  inventory = await labInventoryWith({
    'groups.rpc.rpc-2': undefined,
    'groups.backup': rpc2,
    'vars.backup': { password: `file:${join(folder, 'password')}` },
  });
  await converges();
  expect((await deploy('--check')).exitCode).toBe(0);
  expect(await onHost('db-1', 'ls /etc/rpc-node | grep tls || :')).toBe('');
  await until(connections, '172.30.77.12|f\n172.30.77.13|f');
});
