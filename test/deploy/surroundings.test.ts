import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { $ } from 'zx';
import { addBlankDisk } from '../../lab/disks.mjs';
import { outside } from '../../lab/layout.mjs';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { measured } from '../faults/measured.ts';
import { onHost, started } from './lab-host.ts';
import { labInventoryWith } from './lab-inventory.ts';
import { runPlaybook } from './playbook.ts';

// A replica on a disk of its own is in replica.test.ts.

const deploy = (inventory: string, ...args: readonly string[]) =>
  runPlaybook('deploy', '--inventory', inventory, ...args);

async function converges(inventory: string, ...args: readonly string[]): Promise<void> {
  const run = await deploy(inventory, ...args);
  expect(run.exitCode, run.output).toBe(0);
}

/**
 * A deploy says this, and ends before it changes or stops anything on a host: no container and no
 * engine.
 */
async function isRefused(host: string, inventory: string, words: string | RegExp): Promise<void> {
  const before = await runningOn(host);
  const run = await deploy(inventory, '--limit', host);
  expect(run.exitCode, run.output).toBe(1);
  expect(run.output).toMatch(words);
  expect(await runningOn(host)).toBe(before);
}

const runningOn = async (host: string) =>
  `${await started(host)}\n${await onHost(host, 'systemctl show --property ActiveEnterTimestampMonotonic docker.service')}`;

beforeAll(async () => {
  await labUp({ log: console.error });
  await converges('lab');
});

// Its Docker root is not in the lab's own inventory.
afterAll(() => resetHosts(['rpc-2']));

describe('Surroundings that are not as they should be', () => {
  test('a network of Docker has the address of layer 1: named, and nothing is stopped', async () => {
    const address = '10.201.5.9';
    const { stdout: process } = await $({
      quiet: true,
    })`docker inspect --format ${'{{.State.Pid}}'} ${outside.container}`;
    await $({
      quiet: true,
    })`nsenter --target ${process.trim()} --net ip address replace ${address}/32 dev lo`;
    await onHost('rpc-1', `ip route replace ${address} via ${outside.address}`);
    const inventory = await labInventoryWith({ 'vars.network.l1_rpc_url': `http://${address}:8546` });
    const preflight = ['--limit', 'rpc-1', '--role', 'preflight'];
    await converges(inventory, ...preflight);

    await onHost('rpc-1', 'docker network create --subnet 10.201.5.0/24 other');
    await isRefused(
      'rpc-1',
      inventory,
      /10\.201\.5\.9, layer 1, lies in network other of Docker \(10\.201\.5\.0\/24\)/,
    );
    await onHost('rpc-1', 'docker network rm other');
    await converges(inventory, ...preflight);
    await onHost('rpc-1', `ip route delete ${address}`);
  });

  test('only /etc/hosts of an RPC server knows the name of the database: named, and nothing is stopped', async () => {
    const name = 'db-1.internal';
    await onHost('rpc-1', `echo '172.30.77.11 ${name}' >>/etc/hosts`);
    const inventory = await labInventoryWith({ 'groups.database.db-1.address': name });
    await isRefused(
      'rpc-1',
      inventory,
      /db-1\.internal \(the state database on db-1\) resolves on the host, by \/etc\/hosts, and not in containers/,
    );
    await onHost(
      'rpc-1',
      `sed '/ ${name}$/d' /etc/hosts >/tmp/hosts; cat /tmp/hosts >/etc/hosts; rm /tmp/hosts`,
    );
    await converges('lab', '--check');
  });

  test("a move of Docker's data that cannot succeed: refused twice with its reason, and no container stops", async ({
    task,
  }) => {
    const device = await addBlankDisk('rpc-2', 'small', '64M');
    const line = `${device} /mnt/small ext4 defaults 0 2`;
    await onHost(
      'rpc-2',
      `mkfs.ext4 -q ${device}; mkdir -p /mnt/small; echo '${line}' >>/etc/fstab; mount /mnt/small`,
    );
    const inventory = await labInventoryWith({
      'groups.rpc.rpc-2.vars': { docker_root: { disk: '/mnt/small' } },
    });
    const words = /there is no room for it: the data of docker takes \d+ MB, and \d+ MB are free for/;
    await isRefused('rpc-2', inventory, words);
    await isRefused('rpc-2', inventory, words);
    expect(await onHost('rpc-2', `docker info --format '{{.DockerRootDir}}'`)).toBe('/data/docker');
    measured(task, 'no container and no engine has stopped in two runs');
  });

  test("Docker's root is bound from the large disk: it stays there, and is there after a restart", async ({
    task,
  }) => {
    await resetHosts(['rpc-2']);
    await onHost(
      'rpc-2',
      `umount /var/lib/docker; mkdir /data/var-lib-docker
       sed -i '/ \\/var\\/lib\\/docker /d' /etc/fstab
       echo '/data/var-lib-docker /var/lib/docker none bind 0 0' >>/etc/fstab
       mount /var/lib/docker`,
    );
    await converges('lab');
    const root = await onHost('rpc-2', `docker info --format '{{.DockerRootDir}}'`);
    const disk = await onHost('rpc-2', `findmnt -rno SOURCE --target ${root}`);
    expect(disk).toContain(await onHost('rpc-2', 'findmnt -rno SOURCE --target /data'));
    await converges('lab', '--check');
    // systemd mounts no line of fstab in a container, and the lab's boot only disks.
    await $({ quiet: true })`docker restart --time 150 rpc-lab-rpc-2`;
    await labUp({ log: console.error });
    await onHost('rpc-2', 'mountpoint -q /var/lib/docker || mount /var/lib/docker');
    await expect
      .poll(() => onHost('rpc-2', "docker inspect --format '{{.State.Status}}' json-rpc").catch(String), {
        timeout: 180_000,
        interval: 1000,
      })
      .toBe('running');
    // Chrony selects its time server some seconds after a start.
    const check = async () => (await deploy('lab', '--check')).exitCode;
    await expect.poll(check, { timeout: 120_000, interval: 1000 }).toBe(0);
    measured(task, `Docker's root is ${root} on ${disk}`);
  });
});
