import { beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../lib/engine/host/connection.ts';
import { gatherFacts } from '../../lib/engine/host/facts/gather-facts.ts';
import { createReader } from '../../lib/engine/host/reader.ts';
import { write } from '../../lib/engine/host/step.ts';
import { describeVerdict, ok, type Resource } from '../../lib/engine/resource/resource.ts';
import { applyDrift, makeSteps, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { directoryThatItsContainerOwns } from '../../lib/node/databases/data-directory.ts';
import {
  dataIsInItsPlace,
  dockerWaitsForData,
  missingData,
  mountsOutlastReboot,
  placeIsRemembered,
} from '../../lib/node/server/data-disks.ts';
import { contextOf } from '../../lib/node/testing/role-context.ts';
import { converge } from '../kinds/converge.ts';
import { type ScratchHost, scratchHost } from '../kinds/scratch.ts';
import { measured } from './measured.ts';

const image = '172.30.77.10:5000/postgres:15';
const program = '/usr/local/lib/rpc-node/data-disks';
const data = '/data/pool-db';

let scratch: ScratchHost;
let host: TestHost;
let uuid: string;
let device: string;
let table: string;

/** The place of the data of an RPC server, with its facts of now. */
async function place() {
  const connection = await connect('scratch', scratch.settings);
  const facts = await gatherFacts(createReader(connection, 'scratch'));
  await connection.close();
  return { ...(await contextOf({ group: 'rpc' })), facts };
}

const root = { mode: 0o644, owner: 'root', group: 'root' };
const text = async (command: string) => (await host.$`sh -c ${command}`).text();
const container = () => text("docker ps --filter name=pool-db --format '{{.Names}}' 2>/dev/null");
const rows = () => text("docker exec pool-db psql -U postgres -XAtc 'select count(*) from kept'");
const docker = async () => (await host.unit('docker.service')).active;

async function until(what: () => Promise<boolean>, seconds: number): Promise<number> {
  const begin = Date.now();
  while (!(await what())) {
    if (Date.now() - begin > seconds * 1000) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return (Date.now() - begin) / 1000;
}

beforeAll(async () => {
  scratch = await scratchHost();
  host = scratch.host;
  await host.run({ timeoutSeconds: 600 })`
    mkdir -p /etc/docker && echo '{ "insecure-registries": ["172.30.77.10:5000"] }' >/etc/docker/daemon.json
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y docker.io >/dev/null`;
  device = await text('findmnt -rno SOURCE --mountpoint /data');
  uuid = await text(`blkid -p -s UUID -o value ${device}`);
  table = await text('cat /etc/fstab');
  return scratch.remove;
}, 900_000);

/** What a deploy does on a new server. */
async function deployed() {
  const now = await place();
  expect(await dataIsInItsPlace(now).check(host)).toEqual(ok);
  for (const resource of [directoryThatItsContainerOwns(data), ...placeIsRemembered(now.vars, 'pool-db')])
    await converge(host, resource);
  for (const resource of dockerWaitsForData(now)) await applyDrift(host, resource);
  await host.run({ timeoutSeconds: 600 })`
    docker run -d --name pool-db --restart unless-stopped -e POSTGRES_PASSWORD=x -v ${data}:/var/lib/postgresql/data ${image}
    until docker exec pool-db psql -h 127.0.0.1 -U postgres -c 'create table kept as select 1' 2>/dev/null; do sleep 0.5; done`;
}

/** The one resource that remembers the place of the pool database. */
function remembered({ vars }: Awaited<ReturnType<typeof place>>): Resource {
  const [resource] = placeIsRemembered(vars, 'pool-db');
  if (!resource) throw new Error('nothing is remembered');
  return resource;
}

/** What a resource refuses: its words, and what to do. */
async function refused(resource: Resource): Promise<readonly string[]> {
  const error = await applyDrift(host, resource).then(
    () => new Error('nothing was refused'),
    (failed: Error & { hint?: string }) => failed,
  );
  return [error.message, (error as { hint?: string }).hint ?? ''];
}

const gone = () => `the disk that held ${data} (UUID ${uuid}, was ${device} mounted at /data) is not mounted`;

describe('a disk with data', () => {
  test('is in its place: nothing is to be done, and what is remembered is for root alone', async () => {
    await deployed();
    const now = await place();
    for (const resource of [
      ...dockerWaitsForData(now),
      ...placeIsRemembered(now.vars, 'pool-db'),
      dataIsInItsPlace(now),
    ])
      expect([resource.name, await resource.check(host)]).toEqual([resource.name, ok]);
    expect(await text('stat -c "%a %U" /etc/rpc-node/data-disks')).toBe('600 root');
    expect(await text('findmnt -rno TARGET --target /etc/rpc-node/data-disks')).toBe('/');
    expect(await missingData(host)).toEqual([]);
    expect(await mountsOutlastReboot(now).check(host)).toEqual(ok);
  });

  test('is missing after a reboot: Docker does not start, no empty database is made, a deploy refuses; all returns when it is mounted', async ({
    task,
  }) => {
    await makeSteps(host, write('/etc/fstab', `${table.replace(/^.* \/data .*$/m, '# away')}\n`, root));
    host = await scratch.reboot();
    // Docker is started at the boot, and by its socket: a client does not wait for it.
    await until(async () => (await text('cat /run/rpc-node-docker-waits && echo held')) === 'held', 90);
    await until(async () => (await host.unit('docker.socket')).active === 'inactive', 30);
    expect((await host.$`docker ps`).stderr).toMatch(/Cannot connect to the Docker daemon/);
    await new Promise((resolve) => setTimeout(resolve, 40_000));
    expect(await docker()).not.toBe('active');
    expect((await host.unit('docker.socket')).active).toBe('inactive');
    expect(await text('ls -A /data')).toBe('');
    expect(await text('journalctl --no-pager -o cat -u docker.service')).toContain(gone());

    const now = await place();
    const [words, hint] = await refused(dataIsInItsPlace(now));
    expect(words).toBe(gone());
    expect(hint).toBe(
      `mount it: mount -o defaults,nofail UUID=${uuid} /data; in /etc/fstab: UUID=${uuid} /data ext4 defaults,nofail 0 2. If these data were moved, or are gone for good: ${program} forget pool-db, then deploy`,
    );
    expect(await refused(remembered(now))).toEqual([words, hint]);
    expect((await missingData(host)).map(({ cause }) => cause)).toEqual([gone()]);
    expect(await text('ls -A /data')).toBe('');

    await host.run`mount -o defaults,nofail ${`UUID=${uuid}`} /data`;
    const seconds = await until(async () => (await container()) === 'pool-db', 90);
    await until(async () => (await rows()) === '1', 30);
    measured(task, `Docker and the database are back ${Math.round(seconds)} s after the disk`);
    expect(await dataIsInItsPlace(await place()).check(host)).toEqual(ok);
    expect(describeVerdict(await mountsOutlastReboot(await place()).check(host))).toBe(
      '/data: neither /etc/fstab nor a unit mounts it again after a reboot',
    );
    await makeSteps(host, write('/etc/fstab', `${table}\n`, root));
  });

  test('is replaced by another one, or by a folder of the same: refused; a stop for maintenance is not ended by a mount', async () => {
    await host.run`systemctl stop docker.socket docker.service && umount /data`;
    const other = await text('findmnt -rno SOURCE --mountpoint /var/lib/docker');
    await host.run`mount ${other} /data`;
    expect((await refused(dataIsInItsPlace(await place())))[0]).toMatch(
      `${gone()}: another one is there (UUID `,
    );
    await host.run`umount /data && mkdir -p /mnt/whole && mount ${device} /mnt/whole && mkdir -p /mnt/whole/old && mount --bind /mnt/whole/old /data`;
    expect((await refused(dataIsInItsPlace(await place())))[0]).toBe(
      '/data/pool-db is in another folder of its file system (/old/pool-db, and it was in /pool-db)',
    );
    await host.run`umount /data`;
    expect((await refused(dataIsInItsPlace(await place())))[0]).toBe(gone());
    // The guard of docker.service. A start that it refuses is tried again by systemd, twice.
    expect((await host.$`${program} guard`).ok).toBe(false);
    // The same file system by another way is the same.
    await host.run`mount --bind /mnt/whole /data`;
    expect(await dataIsInItsPlace(await place()).check(host)).toEqual(ok);
    await new Promise((resolve) => setTimeout(resolve, 40_000));
    expect(await docker()).not.toBe('active');
    await host.run`umount /data && umount /mnt/whole && mount /data && systemctl reset-failed docker.service docker.socket && systemctl start docker.service`;
    await until(async () => (await rows()) === '1', 60);
  });

  test('is formatted: refused, until the operator says that the data is gone', async () => {
    await host.run`systemctl stop docker.socket docker.service && umount /data && mkfs.ext4 -q -F ${device} && mount ${device} /data`;
    const now = await place();
    expect((await refused(dataIsInItsPlace(now)))[0]).toMatch(`${gone()}: another one is there (UUID `);
    await host.run`${program} forget pool-db`;
    expect(await dataIsInItsPlace(now).check(host)).toEqual(ok);
    await converge(host, remembered(now));
    await host.run`systemctl reset-failed docker.service docker.socket && systemctl start docker.service`;
  });

  test('is in fstab and is not mounted: refused before any data is remembered', async () => {
    await host.run`rm /etc/rpc-node/data-disks && systemctl stop docker.socket docker.service && umount /data`;
    expect(await refused(dataIsInItsPlace(await place()))).toEqual([
      `/etc/fstab mounts UUID=${uuid} at /data, and it is not mounted`,
      'mount it: mount /data. If this disk is gone for good, take its line out of /etc/fstab',
    ]);
  });

  test('is where the inventory has other data: a changed paths.data is refused', async () => {
    await host.run`mount ${device} /data && ${program} remember pool-db /data/pool-db`;
    const now = await place();
    const vars = { ...now.vars, paths: { ...now.vars.paths, data: '/srv/data' } };
    expect(await refused(dataIsInItsPlace({ ...now, vars }))).toEqual([
      'the data of pool-db are in /data/pool-db, and the inventory has /srv/data/pool-db for them',
      `set paths.data back, or stop pool-db and move its data there. If these data were moved, or are gone for good: ${program} forget pool-db, then deploy`,
    ]);
  });
});
