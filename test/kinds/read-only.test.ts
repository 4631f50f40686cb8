import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { connect } from '../../lib/engine/host/connection.ts';
import type { Writer } from '../../lib/engine/host/host.ts';
import type { ConnectionSettings } from '../../lib/engine/inventory/inventory.ts';
import { formattedDisk } from '../../lib/engine/resource/disk/blank-disk.ts';
import { mount } from '../../lib/engine/resource/disk/mount.ts';
import { composeService } from '../../lib/engine/resource/docker/compose-service.ts';
import { cpuShares } from '../../lib/engine/resource/docker/cpu-shares.ts';
import { dockerImage } from '../../lib/engine/resource/docker/docker-image.ts';
import {
  dockerRoot,
  oldCopyIsRemoved,
  unfinishedMove,
} from '../../lib/engine/resource/docker/docker-root.ts';
import { dockerCanBeUsed } from '../../lib/engine/resource/docker/docker-there.ts';
import { imagesBelowDockerRoot } from '../../lib/engine/resource/docker/image-store.ts';
import { containersOutliveEngine } from '../../lib/engine/resource/docker/kept-containers.ts';
import { download } from '../../lib/engine/resource/download/download.ts';
import { secretContent } from '../../lib/engine/resource/file/content.ts';
import { directory } from '../../lib/engine/resource/file/directory.ts';
import { file } from '../../lib/engine/resource/file/file.ts';
import { jsonFile } from '../../lib/engine/resource/file/json-file.ts';
import { line } from '../../lib/engine/resource/file/line.ts';
import { noLine } from '../../lib/engine/resource/file/no-line.ts';
import { eventually } from '../../lib/engine/resource/job/eventually.ts';
import { job } from '../../lib/engine/resource/job/job.ts';
import {
  acceptedFile,
  authorizedKey,
  gitCheckout,
  group,
  link,
  stoppedService,
  sysctl,
  user,
} from '../../lib/engine/resource/kinds.ts';
import { containerListens } from '../../lib/engine/resource/network/listening.ts';
import { packetFilter } from '../../lib/engine/resource/network/packet-filter.ts';
import { drift, ok, type Resource, type Verdict } from '../../lib/engine/resource/resource.ts';
import { dropIn } from '../../lib/engine/resource/system/drop-in.ts';
import { packages } from '../../lib/engine/resource/system/packages.ts';
import { schedule } from '../../lib/engine/resource/system/schedule.ts';
import { service } from '../../lib/engine/resource/system/service.ts';
import { timezone } from '../../lib/engine/resource/system/timezone.ts';
import { recordedRun } from '../../lib/engine/run/testing/recorded-run.ts';
import { plannedStep, sentSteps } from '../../lib/engine/run/testing/sent-steps.ts';
import { jsonRpc } from '../../lib/node/chain/json-rpc.ts';
import { postgresIndex } from '../../lib/node/databases/postgres.ts';
import { product } from '../../lib/node/server/product.ts';
import { changesBetween, listing } from './listing.ts';
import { scratchHost } from './scratch.ts';

const base = '/srv/read-only-test';
const url = 'http://172.30.77.10:8080/genesis.json';
const target = { container: 'state-db', user: 'postgres', database: 'state' };

/**
 * A resource of each kind, by the name of its source file. The device is the scratch host's own
 * data disk.
 */
const kinds = (device: string): Record<string, readonly Resource[]> => ({
  'packages.ts': [packages('cron', 'hello', 'git')],
  'directory.ts': [directory(base), directory(`${base}/in`).mode(0o700).owner(70001)],
  'file.ts': [
    file(`${base}/plain`).content('one\ntwo\n'),
    file(`${base}/secret`).content(secretContent('Password = "hunter2"\n', /password/i)),
    file(`${base}/binary`).content(Buffer.from([0, 1, 2])),
  ],
  'line.ts': [line(`${base}/plain`, 'two'), line('/etc/hosts', '127.0.0.1 localhost', /^127\.0\.0\.1\s/)],
  'no-line.ts': [noLine(`${base}/plain`, 'other'), noLine('/etc/hosts', 'absent')],
  'json-file.ts': [jsonFile(`${base}/keys.json`, { a: [1], b: { c: 2 } })],
  'accepted-file.ts': [
    acceptedFile({ path: `${base}/accepted`, content: 'true\n', judge: ['sh', '-n'], source: 'a test' }),
  ],
  'link.ts': [link(`${base}/link`, 'plain')],
  'git-checkout.ts': [
    gitCheckout(`${base}/checkout`, { repository: 'http://172.30.77.10:8080/git/node.git', ref: 'v3.1.0' }),
  ],
  'user.ts': [user('read-only-test', { groups: ['audio'] })],
  'group.ts': [group('read-only-test')],
  'authorized-key.ts': [authorizedKey('root', `ssh-ed25519 AAAA${'B'.repeat(40)}`)],
  'sysctl.ts': [sysctl('net.core.somaxconn', 4097)],
  'stopped-service.ts': [stoppedService('not-here')],
  'service.ts': [service('cron', [`${base}/plain`]), service('not-here')],
  'schedule.ts': [schedule('read-only-test', { every: 3600, command: 'true', description: 'a test' })],
  'drop-in.ts': [dropIn('not-here.service', 'read-only-test', '[Unit]\n')],
  'timezone.ts': [timezone('Asia/Singapore'), timezone('No/Where')],
  'mount.ts': [mount('/mnt/read-only-test', device), mount('/mnt/missing', '/dev/not-here')],
  'compose-service.ts': [
    composeService({
      directory: base,
      service: 'state-db',
      container: 'state-db',
      configHash: 'a'.repeat(64),
      readsAtStart: [],
    }),
  ],
  'docker-image.ts': [dockerImage('172.30.77.10:5000/postgres:15')],
  'image-store.ts': imagesBelowDockerRoot(),
  'docker-there.ts': [dockerCanBeUsed()],
  'kept-containers.ts': containersOutliveEngine(product),
  'docker-root.ts': [
    dockerRoot({ product, root: '/data/docker', mountPoint: '/data' }),
    unfinishedMove(product),
    oldCopyIsRemoved(product),
  ],
  'packet-filter.ts': [
    packetFilter({
      product,
      prefix: 'READ-ONLY',
      protects: ['docker.service'],
      networks: ['read-only'],
      accesses: [
        {
          name: 'INTERNAL',
          ports: [{ protocol: 'tcp', published: '5432' }],
          sources: ['10.9.1.2', 'fd09::/16'],
        },
      ],
      hint: '',
    }),
  ],
  'cpu-shares.ts': [cpuShares('state-db', 4096)],
  'blank-disk.ts': [formattedDisk(device, { format: true, label: product })],
  'listening.ts': [containerListens('state-db', [5432], 1)],
  'postgres.ts': [postgresIndex({ target, name: 'log_topic0_idx', table: 'state.log', columns: ['topic0'] })],
  'download.ts': [download({ url, path: `${base}/genesis.json`, sha256: '0'.repeat(64) })],
  'job.ts': [
    job('a job', {
      unit: 'read-only-test-job',
      script: 'true',
      done: async (host) =>
        (await host.unit('read-only-test-job.service')).load === 'not-found' ? drift('not run') : ok,
    }),
  ],
  'json-rpc.ts': [
    eventually(
      'a block number',
      async (host) =>
        (await jsonRpc(host, 'http://127.0.0.1:8123/', 'eth_blockNumber')).ok ? ok : drift('no answer'),
      { seconds: 1 },
    ),
  ],
  'eventually.ts': [eventually('what never comes', async () => drift('not yet'), { seconds: 1 })],
});

let host: Writer;
let settings: ConnectionSettings;
let all: readonly Resource[];
let container: string;
/** Resources whose steps are known from the last check. */
let foretold: readonly string[] = [];

beforeAll(async () => {
  const scratch = await scratchHost();
  ({ host, container, settings } = scratch);
  // Periodic work of a server is not part of this test.
  await host.run({ allow: [0, 1] })`systemctl is-system-running --wait; systemctl stop ${'*.timer'}`;
  const device = (await host.run`findmnt -rno SOURCE --mountpoint /data`).text();
  // If / is not shared, as in a container, logind keeps unmounted file systems.
  await host.run`systemctl stop systemd-logind; umount /data`;
  all = Object.values(kinds(device)).flat();
  return scratch.remove;
});

/** Checks everything twice, in parallel as a run does and one by one. */
async function lookAtAll(): Promise<Verdict[]> {
  const verdicts = await Promise.all(all.map((resource) => resource.check(host)));
  for (const resource of all) await resource.check(host);
  foretold = all.flatMap(({ name }, at) => {
    const verdict = verdicts[at];
    return verdict?.is === 'drift' && Array.isArray(verdict.change) ? [name] : [];
  });
  return verdicts;
}

async function changesByLooking(): Promise<{ changes: string[]; verdicts: Verdict[] }> {
  // The very first check may warm caches: a started daemon, an opened session.
  const before = await listing(container);
  const verdicts = await lookAtAll();
  return { changes: changesBetween(before, await listing(container)), verdicts };
}

test('no resource is missing here', async () => {
  const folder = join(import.meta.dirname, '../../lib/engine/resource');
  const files = (await readdir(folder, { recursive: true })).filter(
    (name) => /(?<!\.test)\.ts$/.test(name) && !name.includes('testing/'),
  );
  const looks = await Promise.all(
    files.map(async (name) =>
      /\bcheck(\(host|:| =)|\bhost\.\$/.test(await readFile(join(folder, name), 'utf8')) ? [name] : [],
    ),
  );
  const ofNode = ['postgres.ts', 'json-rpc.ts'];
  // The contract itself, and modules that only resources use.
  const parts = [
    'resource.ts',
    'docker-engine.ts',
    'apt-simulation.ts',
    'skip-when.ts',
    'parts.ts',
    'attributes.ts',
    'edited-text.ts',
    'http.ts',
    'storage.ts',
  ];
  expect(
    looks
      .flat()
      .map((name) => basename(name))
      .filter((name) => !parts.includes(name))
      .sort(),
  ).toEqual(
    Object.keys(kinds('/dev/null'))
      .filter((name) => !ofNode.includes(name))
      .sort(),
  );
});

test('on a bare host every check ends with a verdict and changes nothing', async () => {
  const { changes, verdicts } = await changesByLooking();
  expect(changes).toEqual([]);
  const verdictOf = (name: string) => verdicts[all.findIndex((resource) => resource.name === name)];
  expect(verdictOf('cron.service is enabled and running')).toEqual({
    is: 'unknown',
    until: 'cron.service is installed',
  });
  expect(verdictOf('packages cron, hello, git')).toMatchObject({ is: 'drift' });
  expect(foretold).toEqual(expect.arrayContaining(['packages cron, hello, git', `file ${base}/secret`]));
});

test('what a run sends is the steps of the plan, byte by byte, for a resource of each kind', async () => {
  const runThere = async (check: boolean) =>
    recordedRun(await connect('scratch', settings), appliable(), { check });
  const { sent: sentByCheck, result } = await runThere(true);
  expect(sentSteps(sentByCheck)).toEqual([]);
  const plan = result.plans[0]?.tasks ?? [];

  const { sent, done } = await runThere(false);
  expect(done.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  const outcomeOf = new Map(done.map(({ task, outcome }) => [task.resource, outcome]));
  const pending = plan.filter(({ outcome }) => outcome === 'pending');
  const unknown = plan.filter(({ task, outcome }) => {
    return outcome === 'unknown' && outcomeOf.get(task.resource) === 'changed';
  });
  expect(unknown.map(({ task }) => task.resource)).toEqual([
    expect.stringContaining('/checkout is'),
    'cron.service is enabled and running',
  ]);
  // The group comes with the user, so its change is sent and not made.
  const unneeded = pending.filter(({ task }) => outcomeOf.get(task.resource) !== 'changed');
  expect(unneeded.map(({ task }) => task.resource)).toEqual(['group read-only-test']);

  const known = pending.map(({ steps = [] }) => JSON.stringify(steps.map(plannedStep)));
  expect(known.length).toBeGreaterThan(15);
  const all = new Set(sentSteps(sent).map((steps) => JSON.stringify(steps)));
  expect([...all]).toEqual(expect.arrayContaining(known));
  expect(all.size).toBe(known.length + unknown.length);
});

test('on a converged host every check reports ok and changes nothing', async () => {
  const { changes } = await changesByLooking();
  expect(changes).toEqual([]);
  for (const resource of appliable()) expect(await resource.check(host), resource.name).toEqual(ok);
});

test('on a host with drift every check changes nothing', async () => {
  await host.run`cd ${base} && echo other > plain && echo other > secret && echo other > binary && chmod 600 keys.json`;
  await host.run`echo '{"a": [2]}' > ${`${base}/keys.json`}; systemctl stop cron read-only-test.timer; umount /mnt/read-only-test`;
  const { changes, verdicts } = await changesByLooking();
  expect(changes).toEqual([]);
  expect(verdicts.filter(({ is }) => is === 'drift').length).toBeGreaterThan(7);
});

/** The resources to which a scratch host can converge without its own Docker engine. */
function appliable(): Resource[] {
  const names = ['not-here', 'No/Where', '/mnt/missing', 'what never comes', 'a block number', 'genesis'];
  const docker = ['has a file system', 'state-db', 'docker', 'image', 'index', 'a job'];
  return all.filter((resource) => ![...names, ...docker].some((word) => resource.name.includes(word)));
}
