import { beforeAll, describe, expect, test } from 'vitest';
import { $ } from 'zx';
import { labUp } from '../../lab/up.mjs';
import { deployedLab } from './deployed-lab.ts';
import { onHost, rpc } from './lab-host.ts';
import { changedLabInventory } from './lab-inventory.ts';
import { named, runPlaybook, startPlaybook, summaryOf } from './playbook.ts';

const rpc1 = 'rpc-1: { address: 172.30.77.12 }';
const rpc2 = 'rpc-2: { address: 172.30.77.13, user: operator }';

beforeAll(deployedLab);

describe('a host that cannot be deployed to is named, and the others are finished', () => {
  test('a host key that differs from the pinned one', async () => {
    const other = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMVX8VpLjfyPDbcmJyBhEYQ3jFUQcYJZZVCiYkvQGDYp';
    const inventory = await changedLabInventory({
      [rpc1]: `rpc-1: { address: 172.30.77.12, host_key: ${other} }`,
    });
    await onHost('rpc-2', 'ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime');
    const run = await runPlaybook('deploy', '--inventory', inventory, '--role', 'time-sync');
    expect(run.exitCode, run.output).toBe(4);
    expect(run.output).toMatch(/^rpc-1\s+unreachable: .*host key/im);
    expect(run.output).toMatch(/SHA256:/);
    expect(named(run.output, 'changed').join()).toContain('rpc-2 time-sync: ');
    expect(summaryOf(run.output)).toMatchObject({
      'db-1': { failed: '0' },
      'rpc-1': { failed: 'unreachable' },
    });
  });

  test('a refused connection', async () => {
    const inventory = await changedLabInventory({ [rpc1]: 'rpc-1: { address: 172.30.77.12, port: 9 }' });
    const run = await runPlaybook('deploy', '--inventory', inventory, '--role', 'time-sync', '--check');
    expect(run.exitCode, run.output).toBe(4);
    expect(run.output).toMatch(/^rpc-1\s+unreachable: .*refused/m);
    expect(summaryOf(run.output)).toMatchObject({ 'db-1': { failed: '0' }, 'rpc-2': { failed: '0' } });
  });

  test('a wrong sudo password', async () => {
    await onHost(
      'rpc-2',
      `id asks >/dev/null 2>&1 || useradd -m asks
       echo 'asks:right-password' | chpasswd
       echo 'asks ALL=(ALL) ALL' > /etc/sudoers.d/asks
       install -d -m 700 -o asks -g asks ~asks/.ssh
       install -m 600 -o asks -g asks ~operator/.ssh/authorized_keys ~asks/.ssh/authorized_keys`,
    );
    const withPassword = (name: string) =>
      changedLabInventory({
        [rpc2]: `rpc-2: { address: 172.30.77.13, user: asks, become_password: env:${name} }`,
      });
    process.env.WRONG_SUDO_PASSWORD = 'wrong-password';
    process.env.RIGHT_SUDO_PASSWORD = 'right-password';
    const wrong = await runPlaybook(
      'deploy',
      '-i',
      await withPassword('WRONG_SUDO_PASSWORD'),
      '--role',
      'time-sync',
    );
    expect([1, 4]).toContain(wrong.exitCode);
    expect(wrong.output).toMatch(/^rpc-2\s+unreachable: .*sudo.*password/m);
    expect(wrong.output).not.toContain('wrong-password');
    expect(summaryOf(wrong.output)).toMatchObject({ 'db-1': { failed: '0' }, 'rpc-1': { failed: '0' } });

    const right = await runPlaybook(
      'deploy',
      '-i',
      await withPassword('RIGHT_SUDO_PASSWORD'),
      '--role',
      'time-sync',
    );
    expect(right.exitCode, right.output).toBe(0);
    expect(right.output).not.toContain('right-password');
    await onHost('rpc-2', 'userdel -r asks 2>/dev/null; rm /etc/sudoers.d/asks');
  });

  test('a host that disconnects during the run', async () => {
    await onHost('rpc-1', 'dpkg --purge --force-depends postgresql-client-15 >/dev/null');
    const run = startPlaybook('deploy', '--inventory', 'lab', '--role', 'client-tools', '--verbose');
    await expect.poll(run.output, { timeout: 60_000, interval: 20 }).toContain('play: prepare servers');
    await $({ quiet: true })`docker kill rpc-lab-rpc-1`;
    const ended = await run.ended;
    await labUp({ log: console.error });
    expect([1, 4], ended.output).toContain(ended.exitCode);
    expect(ended.output).toMatch(/^rpc-1\s+.*connection was lost/m);
    expect(summaryOf(ended.output)).toMatchObject({ 'db-1': { failed: '0' }, 'rpc-2': { failed: '0' } });

    const next = await runPlaybook('deploy', '--inventory', 'lab', '--role', 'client-tools');
    expect(next.exitCode, next.output).toBe(0);
  });
});

describe('foreign data is not overwritten', () => {
  test('a database that we did not restore is refused, and left unchanged', async () => {
    await onHost('db-1', 'docker stop -t 5 sync prover');
    await onHost(
      'db-1',
      `echo "COMMENT ON DATABASE state_db IS 'kept by hand'" | docker exec -i state-db psql -U state_user -d state_db`,
    );
    const count = () =>
      onHost(
        'db-1',
        `echo 'SELECT count(*) FROM state.l2block' | docker exec -i state-db psql -AtU state_user -d state_db`,
      );
    const before = await count();
    expect(Number(before)).toBeGreaterThan(0);
    const run = await runPlaybook('deploy', '--inventory', 'lab');
    expect(run.exitCode, run.output).toBe(1);
    expect(run.output).toContain('replace_existing');
    expect(run.output).toMatch(/play: RPC servers\s+skipped: /);
    expect(await count()).toBe(before);

    const inventory = await changedLabInventory({
      '  snapshot:\n': '  snapshot:\n    replace_existing: true\n',
    });
    const checked = await runPlaybook('deploy', '--inventory', inventory, '--check');
    expect(checked.exitCode, checked.output).toBe(1);
    expect(checked.output).toMatch(
      /nothing uses the databases that are to be replaced.*\n.*they are used by .*rpc-1 \(/,
    );
    await onHost('rpc-1', 'docker stop -t 5 json-rpc prover');
    await onHost('rpc-2', 'docker stop -t 5 json-rpc prover');
    const replaced = await runPlaybook('deploy', '--inventory', inventory);
    expect(replaced.exitCode, replaced.output).toBe(0);
    expect(Number(await rpc('rpc-1', 'eth_blockNumber'))).toBeGreaterThan(0);
  });
});

test('a full disk is reported once when it crosses the threshold and once when it clears', async () => {
  const alerts = async () =>
    JSON.parse(await onHost('db-1', 'curl -sS http://172.30.77.10:8081/alerts')) as unknown[];
  const before = (await alerts()).length;
  await onHost(
    'db-1',
    `fallocate -l $(( $(df -B1 --output=avail /data | tail -1) * 95 / 100 )) /data/filler`,
  );
  await expect.poll(alerts, { timeout: 60_000, interval: 1000 }).toHaveLength(before + 1);
  await onHost('db-1', 'sleep 25');
  expect(await alerts()).toHaveLength(before + 1);
  await onHost('db-1', 'rm /data/filler');
  await expect.poll(alerts, { timeout: 60_000, interval: 1000 }).toHaveLength(before + 2);
  expect(JSON.stringify((await alerts()).slice(before))).toContain('/data');
});
