import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { quote } from '../../lib/engine/host/quote.ts';
import { file } from '../../lib/engine/resource/file/file.ts';
import type { Resource } from '../../lib/engine/resource/resource.ts';
import { schedule } from '../../lib/engine/resource/system/schedule.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { driftCheck } from '../../lib/node/monitor/drift-check.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { installMissing } from '../install-missing.ts';
import { getStorageServer, storageServer } from '../storage-server.ts';
import { checksItself, resourcesOf } from './schedules.ts';
import { startSystemdHost } from './systemd-host.ts';

// Every schedule of the deployment does its work in its sandbox, on a host with the real systemd.

let host: TestHost;
beforeAll(async () => {
  installMissing([
    ['/usr/bin/barman', 'barman'],
    ['/usr/bin/zstd', 'zstd'],
    ['/usr/lib/postgresql/15/bin/postgres', 'postgresql-15'],
    ['/sbin/mkfs.ext4', 'e2fsprogs'],
    ['/usr/bin/curl', 'curl'],
  ]);
  await getStorageServer();
  const started = await startSystemdHost();
  host = started.host;
  await applyDrift(host, file('/usr/local/lib/stand-in.mjs').content(prepared('stand-in.mjs')));
  await sh(prepared('host.sh'), process.execPath);
  return started.end;
});

const prepared = (name: string) => readFileSync(new URL(`sandboxes/${name}`, import.meta.url), 'utf8');

/** Runs a shell script as root, outside of any sandbox. */
async function sh(script: string, ...words: readonly string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await host.$({ timeoutSeconds: 120 })`sh -euc ${script} sh ${words}`;
  if (exitCode !== 0) throw new Error(`${script.slice(0, 200)}: ${stdout}${stderr}`);
  return stdout.trim();
}

/** Makes files, folders and schedules of a role. The timers do not run: the test starts the work. */
async function install(resources: readonly Resource[]): Promise<void> {
  for (const resource of resources) {
    if (!/^(file|directory|schedule) /.test(resource.name)) continue;
    if ((await resource.check(host)).is !== 'ok') await applyDrift(host, resource);
    if (resource.name.startsWith('schedule '))
      await sh(`systemctl stop ${unitOf(resource)}.timer ${unitOf(resource)}.service`);
  }
}

const unitOf = ({ name }: Resource) => name.slice('schedule '.length);

/** Starts the work of a schedule, and waits for its end. */
async function runs(unit: string): Promise<string> {
  const { ok } = await host.$({ timeoutSeconds: 120 })`systemctl start ${unit}.service`;
  const said = await sh(`journalctl -o cat -u ${unit}.service -n 30 --no-pager`);
  expect(ok, said).toBe(true);
  return said;
}

test('Docker waits for a disk that is missing, and starts when it is back', async () => {
  await install(
    (await resourcesOf('docker-root', 'database')).filter(({ name }) => /data-disks|\/rpc-node$/.test(name)),
  );
  await sh('/usr/local/lib/rpc-node/data-disks remember state-db /srv/disk/state-db');
  await runs('rpc-node-data-disks');
  expect(await sh('ls /run/rpc-node-docker-waits 2>/dev/null || echo none')).toBe('none');
  await sh('umount /srv/disk');
  await runs('rpc-node-data-disks');
  expect(await sh('systemctl is-active rpc-node-docker-waits; ls /run/rpc-node-docker-waits')).toBe(
    'active\n/run/rpc-node-docker-waits',
  );
  await sh(
    'mount -o loop /srv/image /srv/disk; for i in $(seq 50); do ! systemctl is-active docker || exit 0; sleep 0.2; done; exit 1',
  );
  await runs('rpc-node-data-disks');
  expect(await sh('ls /run/rpc-node-docker-waits 2>/dev/null || echo none')).toBe('none');
});

test('folders with signs that systemd reads are written, and any user has /tmp', async () => {
  const folder = '/srv/a "b" 100%s \\ +c';
  await sh('mkdir "$1"; chown barman: "$1"', folder);
  const asBarman = 'setpriv --reuid=barman --regid=barman --init-groups --';
  const command = `${asBarman} sh -c 'mktemp -d && mktemp -d -p /var/tmp && touch "$0/there"' ${quote([folder])}`;
  await install([
    schedule('any-folder', { every: 3600, command, description: 'd', writes: [folder], needs: ['users'] }),
  ]);
  await runs('any-folder');
  expect(await sh('ls "$1"', folder)).toBe('there');
});

test('a disk that fills up is told to the webhook', async () => {
  await install(await resourcesOf('disk-alert', 'database'));
  await sh(
    `cd /etc/rpc-node; sed -i "s/^WARN=.*/WARN=0/; s/^CLEAR=.*/CLEAR=0/; s,^WEBHOOK=.*,WEBHOOK=http://127.0.0.1:8123/alert," disk-alert.conf`,
  );
  const said = await runs('rpc-node-disk-alert');
  expect(await sh('ls /run/stand-in'), said).toBe('alert');
  expect(JSON.parse(await sh('cat /run/stand-in/alert'))).toMatchObject({ status: 'alert', warn_percent: 0 });
});

test('metrics in the sandbox are those outside of it', async () => {
  await install(await resourcesOf('exporters', 'database'));
  await sh(
    `cd /etc/rpc-node; sed -i "s,^SEQUENCER=.*,SEQUENCER=http://127.0.0.1:8123/,; s,^LAYER1=.*,LAYER1=http://127.0.0.1:8123/," metrics.conf; rm -f /var/lib/rpc-node/metrics/layer1`,
  );
  const written = '/var/lib/prometheus/node-exporter/rpc_node.prom';
  const metrics = async () =>
    (await sh(`grep -v '^#' ${written}`)).split('\n').filter((line) => !/_seconds /.test(line));
  await sh('/usr/local/lib/rpc-node/node-metrics /etc/rpc-node/metrics.conf');
  const outside = await metrics();
  await sh(`rm ${written}`);
  await runs('rpc-node-metrics');
  expect(await metrics()).toEqual(outside);
  expect(outside).toEqual(
    expect.arrayContaining([
      'rpc_node_docker_up 1',
      'rpc_node_container_running{container="state-db"} 1',
      'rpc_node_block{source="own"} 41',
      'rpc_node_block{source="sequencer"} 41',
      'rpc_node_hash_same 1',
      'rpc_node_layer1_block 41',
      'rpc_node_data_missing 0',
    ]),
  );
  expect(await sh(`stat -c %a ${written}`)).toBe('644');
});

test('another disk in the place of the one with the data is seen in the sandbox of the metrics', async () => {
  await sh('umount /srv/disk; mkfs.ext4 -q -F /srv/image; mount -o loop /srv/image /srv/disk');
  await runs('rpc-node-metrics');
  expect(await sh('grep ^rpc_node_data_missing /var/lib/prometheus/node-exporter/rpc_node.prom')).toBe(
    'rpc_node_data_missing 1',
  );
});

test('base backups, their copy, the check of the repository and the drill', async () => {
  await install(await resourcesOf('backup', 'backup'));
  await sh(prepared('backup.sh'), '172.30.77.11', '5432');
  await runs('rpc-node-base-backup');
  expect(await sh('ls /data/backup/state-db/base/*/data/pieces | head -n 1')).toBe('SHA256SUMS');
  const keys = process.env.SCHEDULES_COPY_KEY ?? '';
  await sh(
    `mkdir -p /srv/s3/backups; systemd-run --quiet --setenv=ROOT_ACCESS_KEY=$2 --setenv=ROOT_SECRET_KEY=$2 "$1" --port 127.0.0.1:7070 posix /srv/s3
     for i in $(seq 100); do ! curl -s http://127.0.0.1:7070 >/dev/null || exit 0; sleep 0.1; done; exit 1`,
    storageServer,
    keys,
  );
  await runs('rpc-node-backup-copy');
  expect(await sh('ls /srv/s3/backups/lab/*/*/base/*/backup.info | wc -l')).toBe('1');
  await runs('rpc-node-backup-check');
  expect(await sh('cat /var/lib/rpc-node/backup/problems')).toBe('');
  expect(await sh('grep ^rpc_node_backup_ok /var/lib/prometheus/node-exporter/rpc_node_backup.prom')).toBe(
    'rpc_node_backup_ok 1',
  );
  expect(await runs('rpc-node-recovery-drill')).toContain(
    'PASS: 41 blocks up to 41 match the running database',
  );
  expect(
    await sh('! mountpoint -q /run/rpc-node-drill; ls /data/backup/drill 2>/dev/null || echo none'),
  ).toBe('none');
});

test('scheduled check mode', async () => {
  const file = await labDeployment([checksItself]);
  const archive = execFileSync('tar', ['-C', dirname(dirname(file)), '-cz', '.']);
  await sh('mkdir /srv/team; echo "$1" | base64 -d | tar -C /srv/team -xz', archive.toString('base64'));
  const inventory = { ...(await loadDeployment(file)), file: '/srv/team/inventory/lab.yaml' };
  await install(driftCheck(inventory));
  const said = await runs('rpc-node-drift-lab');
  expect(said).toContain('could not run to its end: exit code 4');
});
