import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { until } from '../gateway/gateway.ts';
import { prometheus } from '../monitoring-programs.mjs';
import { type HostMetrics, startHostMetrics } from './host-metrics.ts';
import { onlyFire, type Prometheus, startPrometheus } from './prometheus.ts';

const address = '127.0.9.61';
/** Seconds. */
const patience = 30;

/** As Linux writes it. */
const mounts = (options: string) => `/dev/md1 / ext4 ${options} 0 0
/dev/sr0 /media/config iso9660 ro,relatime,nojoliet,check=s,map=n,blocksize=2048 0 0
`;
const well: Readonly<Record<string, string>> = {
  '1/mounts': mounts('rw,relatime,errors=remount-ro'),
  'sys/net/netfilter/nf_conntrack_count': '9000\n',
  'sys/net/netfilter/nf_conntrack_max': '65536\n',
};
const faults: readonly (readonly [alert: string, file: string, text: string])[] = [
  ['FileSystemReadOnly', '1/mounts', mounts('ro,relatime,errors=remount-ro')],
  ['ConnectionsTracked', 'sys/net/netfilter/nf_conntrack_count', '60000\n'],
];

let folder: string;
let exporter: HostMetrics;
let monitor: Prometheus;

const show = (file: string, text = '') => writeFile(join(folder, 'proc', file), text);

/** test/all.mjs gets it. */
describe.skipIf(!existsSync(prometheus))('what the kernel says of disks and connections', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kernel-'));
    for (const name of ['1', 'sys/net/netfilter'])
      await mkdir(join(folder, 'proc', name), { recursive: true });
    for (const [file, text] of Object.entries(well)) await show(file, text);
    const own = ['conntrack', 'filesystem'];
    exporter = await startHostMetrics(
      folder,
      address,
      {},
      {},
      {
        script: [],
        exporter: [],
        options: [`--path.procfs=${folder}/proc`, ...own.map((name) => `--collector.${name}`)],
      },
    );
  });
  afterAll(async () => {
    await monitor?.stop();
    await exporter?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('a host that is well has no alert', async () => {
    const { hosts } = await loadDeployment(
      await labDeployment([
        [['groups', 'database', 'db-1', 'address'], '127.0.9.100'],
        [['groups', 'rpc'], { 'rpc-1': { address: '127.0.9.1' } }],
        [['groups', 'monitor'], { 'mon-1': { address } }],
      ]),
    );
    const host = hosts.find(({ name }) => name === 'mon-1');
    if (!host) throw new Error('no host');
    monitor = await startPrometheus({ vars: host.vars, hosts: [host], groups: ['host'] });
    const isMeasured = async () => (await monitor.query('node_filesystem_readonly == 0')).length > 0;
    await until(isMeasured, 'the file systems are measured', patience);
    await onlyFire(monitor, [], patience);
  });

  test.each(faults)('%s fires, and ends with its cause', async (alert, file, text) => {
    await show(file, text);
    await onlyFire(monitor, [`${alert} mon-1`], patience);
    await show(file, well[file]);
    await onlyFire(monitor, [], patience);
  });
});
