import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addBlankDisk } from '../../lab/disks.mjs';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { dockerByRoles } from './docker-by-roles.ts';
import { onHost } from './lab-host.ts';
import { changedLabInventory } from './lab-inventory.ts';
import { runPlaybook } from './playbook.ts';

const image = '172.30.77.10:5000/postgres:15';
const rpc2 = 'rpc-2: { address: 172.30.77.13, user: operator }';
const rootOf = (host: string) => onHost(host, `docker info --format '{{.DockerRootDir}}'`);

beforeAll(async () => {
  await labUp({ log: console.error });
  await resetHosts(['rpc-2']);
});

// Its Docker root is not in the lab's own inventory.
afterAll(() => resetHosts(['rpc-2']));

describe("Docker's data on a disk of its own", () => {
  test('existing data of Docker is moved, running containers run again, and the old copy stays', async () => {
    await dockerByRoles('rpc-2');
    await onHost(
      'rpc-2',
      `docker run -d --name kept -v kept:/kept --restart unless-stopped --entrypoint sleep ${image} infinity
     docker exec kept sh -c 'head -c 5000000 /dev/urandom > /kept/data; ln /kept/data /kept/hard; sync'
     docker create --name idle --entrypoint sleep ${image} 1`,
    );
    const sum = () =>
      onHost('rpc-2', 'docker exec kept sh -c "sha256sum < /kept/data; stat -c %h /kept/data"');
    const before = await sum();
    expect(await rootOf('rpc-2')).toBe('/var/lib/docker');

    const run = await runPlaybook('deploy', '-i', 'lab', '-l', 'rpc-2', '--role', 'docker-root');
    expect(run.exitCode, run.output).toBe(0);
    expect(await rootOf('rpc-2')).toBe('/data/docker');
    expect(await sum()).toBe(before);
    expect(await onHost('rpc-2', `docker ps -a --format '{{.Names}} {{.State}}' | sort`)).toBe(
      'idle created\nkept running',
    );
    expect(await onHost('rpc-2', 'cat /etc/docker/daemon.json')).toContain('insecure-registries');
    expect(await onHost('rpc-2', 'find /var/lib/docker -name data -size +4M | wc -l')).toBe('1');

    const again = await runPlaybook('deploy', '-i', 'lab', '-l', 'rpc-2', '--role', 'docker-root');
    expect(again.exitCode, again.output).toBe(0);
    expect(again.output).toContain('/var/lib/docker');
  });

  test('a blank disk is formatted only if the inventory names it and allows it, and one with a signature never', async () => {
    const device = await addBlankDisk('rpc-2', 'blank', '3G');
    const withDisk = (settings: string) =>
      changedLabInventory({
        [rpc2]: `rpc-2: { address: 172.30.77.13, user: operator, vars: { paths: { data: /srv/data }, docker_root: { disk: ${device}${settings} } } }`,
      });
    const deploy = async (settings: string) =>
      runPlaybook('deploy', '-i', await withDisk(settings), '-l', 'rpc-2', '--role', 'docker-root');
    const signature = () => onHost('rpc-2', `blkid -p -o value -s TYPE ${device} || true`);

    const unsaid = await deploy('');
    expect(unsaid.exitCode, unsaid.output).toBe(1);
    expect(unsaid.output).toContain('format: true');
    expect(await signature()).toBe('');

    await onHost('rpc-2', `mkfs.ext4 -q -L precious ${device}; e2label ${device}`);
    const uuid = await onHost('rpc-2', `blkid -p -o value -s UUID ${device}`);
    const used = await deploy(', format: true');
    expect(used.exitCode, used.output).toBe(1);
    expect(used.output).toMatch(/ext4/);
    expect(await onHost('rpc-2', `blkid -p -o value -s UUID ${device}`)).toBe(uuid);

    await onHost('rpc-2', `wipefs -qa ${device}`);
    const said = await deploy(', format: true');
    expect(said.exitCode, said.output).toBe(0);
    expect(await signature()).toBe('ext4');
    const root = await rootOf('rpc-2');
    expect(await onHost('rpc-2', `findmnt -n -o SOURCE --target ${root}`)).toBe(device);
    expect(await onHost('rpc-2', `docker ps --format '{{.Names}}'`)).toBe('kept');
  });
});
