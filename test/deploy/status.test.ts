import { afterAll, beforeAll, expect, test } from 'vitest';
import { $ } from 'zx';
import { deployedLab } from './deployed-lab.ts';
import { blockNumber, labHosts, listing, onHost, rpc, stateSql } from './lab-host.ts';
import { labInventoryWith } from './lab-inventory.ts';
import { runPlaybook, startPlaybook } from './playbook.ts';

/** The used part of the document (docs/status.md). */
interface Status {
  readonly health: string;
  readonly hosts: readonly {
    readonly host: string;
    readonly health: string;
    readonly findings: readonly { readonly is: string; readonly about: string; readonly fault: boolean }[];
    readonly chain: {
      readonly own: { readonly block: number; readonly hash: string; readonly batch: number };
      readonly trusted: { readonly block: number; readonly batch: number };
      readonly behind: number;
    };
  }[];
}

async function look(...args: readonly string[]) {
  const { exitCode, stdout } = await runPlaybook('status', '--inventory', 'lab', '--json', ...args);
  const document = JSON.parse(stdout) as Status;
  const of = (host: string) => document.hosts.find((each) => each.host === host);
  /** `is about` of each fault. */
  const faults = (host: string) =>
    of(host)?.findings.flatMap(({ is, about, fault }) => (fault ? [`${is} ${about}`] : []));
  return { exitCode, document, of, faults };
}

const words = (...args: readonly string[]) => runPlaybook('status', '--inventory', 'lab', ...args);
const health = async (...args: readonly string[]) => (await look(...args)).document.health;

/** Time for what the stand-ins do every second, on a busy machine. Most of it is spent on looks. */
const soon = { timeout: 120_000, interval: 3000 };

/** Waits for one host: a look at it costs a third of a look at all. */
async function untilHealthy(host: string): Promise<void> {
  await expect.poll(() => health('--limit', host), soon).toBe('healthy');
}

/** The lab's control interface of the trusted sequencer and of layer 1. */
async function control(action: string): Promise<void> {
  const answer = await fetch(`http://172.30.77.10:8090/control/${action}`, { method: 'POST' });
  expect(answer.status).toBe(204);
}
const sequencer = (action: string) => control(`sequencer/${action}`);
const layer1 = (action: string) => control(`layer1/${action}`);

/**
 * Listings of hosts with running containers, without their age, and sorted, because images of the
 * same age have no order.
 */
async function listings(): Promise<string[]> {
  const all = await Promise.all(labHosts.map(listing));
  const ages = /(Up )?(About |Less than )?(an?|\d+) (second|minute|hour)s?/g;
  return all.map((text) => text.replace(ages, '').replace(/ +/g, ' ').split('\n').sort().join('\n'));
}

beforeAll(deployedLab);

// After any failure the next tests find a running sequencer.
afterAll(async () => {
  await sequencer('start');
  await sequencer('release');
  await sequencer('fork?from=0');
  await layer1('start');
  await layer1('fail?status=0');
  await layer1('fork?from=0');
});

test('a healthy deployment ends with 0, and the check changes nothing', async () => {
  await expect.poll(() => health(), soon).toBe('healthy');
  const before = await listings();
  const run = await words();
  expect(run.exitCode, run.output).toBe(0);
  for (const host of labHosts)
    expect(run.stdout).toMatch(new RegExp(`^${host} +healthy, block \\d,\\d{3}, caught up$`, 'm'));
  expect(run.stdout).toContain('node v3.1.0, as the inventory says (generation current)');
  expect(run.stdout).toMatch(/\n3 hosts: 3 healthy\n$/);
  expect(await listings()).toEqual(before);
});

test('a sequencer that makes no blocks is named, and no host is blamed; the numbers equal those of a direct query', async () => {
  await sequencer('hold');
  const trusted = Number((await askTrusted('eth_blockNumber')) as string);
  const arrived = async () => Math.min(await blockNumber('rpc-1'), await blockNumber('rpc-2'));
  await expect.poll(arrived, { timeout: 30_000, interval: 500 }).toBe(trusted);
  await onHost('db-1', 'sleep 6');

  const { exitCode, document, of } = await look('--stale-after', '5s');
  expect(exitCode).toBe(0);
  for (const { findings, chain } of document.hosts) {
    expect(findings).toMatchObject([{ is: 'still', about: 'trusted sequencer', fault: false }]);
    expect(chain).toMatchObject({ behind: 0, trusted: { block: trusted } });
  }
  const [block, hash, batch] = (
    await stateSql(
      'select block_num, block_hash, batch_num from state.l2block order by block_num desc limit 1',
    )
  ).split('|');
  expect(of('db-1')?.chain.own).toMatchObject({ block: Number(block), hash, batch: Number(batch) });
  const ofRpc = { block: await blockNumber('rpc-1'), batch: Number(await rpc('rpc-1', 'zkevm_batchNumber')) };
  expect(of('rpc-1')?.chain.own).toMatchObject(ofRpc);
  expect(of('rpc-1')?.chain.trusted.batch).toBe(Number(await askTrusted('zkevm_batchNumber')));

  const run = await words('--stale-after', '5s', '--limit', 'rpc-1');
  expect(run.output).toMatch(/^ {2}trusted sequencer: it has itself made no block for \d/m);
  await sequencer('release');
});

async function askTrusted(method: string): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] });
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch('http://172.30.77.10:8545', { method: 'POST', body, headers });
  return ((await answer.json()) as { result: unknown }).result;
}

test('a stopped json-rpc is named once, and the worst host is first', async () => {
  await onHost('rpc-2', 'docker stop -t 2 json-rpc');
  const { exitCode, faults } = await look();
  expect(exitCode).toBe(1);
  expect(labHosts.map(faults)).toEqual([[], [], ['stopped json-rpc']]);
  const run = await words();
  expect(run.exitCode, run.output).toBe(1);
  expect(run.stdout).toMatch(/^rpc-2 +unhealthy\n {2}json-rpc: exited with \d+, .* ago\n/);
  await onHost('rpc-2', 'docker start json-rpc');
  await untilHealthy('rpc-2');
});

test('a prover that hangs is named by status and by a deploy, although json-rpc answers blocks', async () => {
  const signal = (name: string) =>
    onHost('rpc-2', `kill -${name} $(docker inspect -f '{{.State.Pid}}' prover)`);
  const words =
    'eth_call, which the prover executes: http://localhost:8123 answers an error: -32000 failed to execute the unsigned transaction';
  await signal('STOP');
  try {
    const { exitCode, faults } = await look('--limit', 'rpc-2');
    expect([exitCode, faults('rpc-2')]).toEqual([1, ['no-execution json-rpc']]);
    const check = await runPlaybook(
      'deploy',
      '--inventory',
      'lab',
      '--check',
      '--role',
      'verify',
      '--limit',
      'rpc-2',
    );
    expect(check.exitCode, check.output).toBe(1);
    expect(check.stdout).toContain(words);
  } finally {
    await signal('CONT');
  }
  await untilHealthy('rpc-2');
});

test('a disk alert whose message nobody takes is named, until one is taken', async () => {
  const settings = '/etc/rpc-node/disk-alert.conf';
  // Every disk counts as full, and nobody listens on the port.
  const failing = `cp -p ${settings} ${settings}.kept
    printf '%s\\n' WARN=1 CLEAR=0 WEBHOOK=http://127.0.0.1:9/alert >>${settings}
    systemctl start rpc-node-disk-alert.service || :
    mv ${settings}.kept ${settings}`;
  await onHost('rpc-1', failing);
  const { faults } = await look();
  expect(labHosts.map(faults)).toEqual([[], ['disk-alert-failed disk alert'], []]);
  const run = await words();
  expect(run.stdout).toMatch(
    /^ {2}disk alert: its last check of the disks failed: the message on \/\S* could not be posted; it is tried again next time \(journalctl -u rpc-node-disk-alert\)$/m,
  );
  await onHost('rpc-1', 'systemctl start rpc-node-disk-alert.service');
  expect(await health('--limit', 'rpc-1')).toBe('healthy');
});

test('a synchronizer that makes no progress is unhealthy, and the servers of its blocks are named', async () => {
  await onHost('db-1', 'docker pause sync; sleep 12');
  const { exitCode, faults } = await look('--stale-after', '5s', '--max-behind', '100');
  await onHost('db-1', 'docker unpause sync');
  expect(exitCode).toBe(1);
  expect(labHosts.map(faults)).toEqual([
    ['stopped sync', 'stale sync'],
    ['stale json-rpc'],
    ['stale json-rpc'],
  ]);
  await untilHealthy('db-1');
});

test('a synchronizer that diverged is unhealthy while its container runs, and goes on once its blocks are there again', async () => {
  await sequencer(`fork?from=${(await blockNumber('rpc-1')) - 20}`);
  await expect
    .poll(async () => (await look('--limit', 'db-1')).faults('db-1'), soon)
    .toEqual(['diverged sync']);
  // It never halts: it reports the same at every try.
  const tries = () =>
    onHost('db-1', `docker logs --since 10s sync 2>&1 | grep -c 'error processing trusted batch' || :`);
  await expect.poll(async () => Number(await tries()), soon).toBeGreaterThan(3);
  expect(await onHost('db-1', `docker inspect --format '{{.State.Status}}' sync`)).toBe('running');
  const run = await words();
  expect(run.exitCode, run.output).toBe(1);
  expect(run.stdout).toMatch(
    /^rpc-1 +unhealthy, .*\n {2}json-rpc: diverged from the trusted sequencer: block \d,\d{3} is 0x\w{8}… here and 0x\w{8}… there$/m,
  );

  await sequencer('fork?from=0');
  await untilHealthy('db-1');
  const again = await runPlaybook('deploy', '--inventory', 'lab');
  expect(again.exitCode, again.output).toBe(0);
});

test('a layer 1 that fails is named as the cause: by its warnings while sync runs, by its fatal line when sync starts', async () => {
  await layer1('fail?status=429');
  const late = async () => (await words('--stale-after', '5s', '--limit', 'db-1')).stdout;
  await expect
    .poll(late, soon)
    .toMatch(
      /^ {2}sync: .*; its last error: error getting latest sequenced batch in the rollup. Error: 429 Too Many Requests/m,
    );
  await onHost('db-1', 'docker restart -t 2 sync');
  await expect
    .poll(async () => (await words('--limit', 'db-1')).stdout, soon)
    .toMatch(
      /^ {2}sync: (?:keeps restarting|was restarted) .*: 429 Too Many Requests: Too Many Requests \(the provider limits requests: use another, or a larger plan\)$/m,
    );
  await layer1('fail?status=0');
  // Docker's count of restarts begins anew: after many of them a container counts as unstable for
  // an hour.
  await onHost('db-1', 'docker restart -t 2 sync');
  await untilHealthy('db-1');
});

test('a sequencer that is away when sync starts is named, although sync logs without a pause', async () => {
  await sequencer('stop');
  await onHost('db-1', 'docker restart -t 2 sync');
  const lines = () =>
    onHost('db-1', `docker logs --since 2s sync 2>&1 | grep -c 'error syncing trusted state' || :`);
  await expect.poll(async () => Number(await lines()), soon).toBeGreaterThan(50);
  const run = await words('--limit', 'db-1');
  expect(run.stdout).toMatch(/^ {2}trusted sequencer: .*does not answer/m);
  const { log } = (await look('--limit', 'db-1')).of('db-1') as { log?: { lastError: string } };
  expect(log?.lastError).toMatch(
    /^error syncing trusted state\. Error: Post "http:\/\/172\.30\.77\.10:8545": dial tcp .*: connect: connection refused$/,
  );
  await sequencer('start');
  await untilHealthy('db-1');
});

test('a layer 1 with another history empties state.block, and the reason is named at every restart', async () => {
  const kept = 'select count(*) from state.block';
  await stateSql('create table public.kept_blocks as select * from state.block');
  const blocks = await stateSql(kept);
  await layer1('fork?from=1');
  await onHost('db-1', 'docker restart -t 2 sync');
  await expect.poll(() => stateSql(kept), soon).toBe('0');
  expect(await onHost('db-1', 'docker logs sync 2>&1')).toContain('Reverting synchronization to block: ');
  await expect
    .poll(async () => (await words('--limit', 'db-1')).stdout, soon)
    .toMatch(
      /^ {2}sync: (?:keeps restarting|was restarted) .*: the specified genBlockNumber in config file does not contain any forkID event\./m,
    );

  await layer1('fork?from=0');
  await stateSql('insert into state.block select * from public.kept_blocks; drop table public.kept_blocks');
  expect(await stateSql(kept)).toBe(blocks);
  await onHost('db-1', 'docker restart -t 2 sync');
  await untilHealthy('db-1');
});

test('docker stop ends the node at once with exit code 2: it does not catch SIGTERM', async () => {
  await onHost('rpc-2', 'docker stop -t 10 json-rpc');
  expect(await onHost('rpc-2', `docker inspect --format '{{.State.ExitCode}}' json-rpc`)).toBe('2');
  await onHost('rpc-2', 'docker start json-rpc');
  await untilHealthy('rpc-2');
});

test('an image that differs from the inventory is named', async () => {
  const inventory = await labInventoryWith({ 'vars.images.prover': '172.30.77.10:5000/prover:v7' });
  const run = await runPlaybook('status', '--inventory', inventory, '--limit', 'rpc-1');
  expect(run.exitCode, run.output).toBe(1);
  expect(run.stdout).toContain(
    '  prover: runs 172.30.77.10:5000/prover:v6.0.2, and the inventory says 172.30.77.10:5000/prover:v7\n',
  );
});

test('an unreachable host ends with 4, and the others are shown', async () => {
  const inventory = await labInventoryWith({ 'groups.rpc.rpc-1': { address: '172.30.77.12', port: 9 } });
  const run = await runPlaybook('status', '--inventory', inventory);
  expect(run.exitCode, run.output).toBe(4);
  expect(run.stdout).toMatch(/^rpc-1 +unreachable: .*refused/);
  expect(run.stdout).toMatch(/\n3 hosts: 2 healthy, 1 unreachable\n$/);
});

test('--watch survives a host that disappears and returns, and ends with 130 on Ctrl-C', async () => {
  const run = startPlaybook(
    'status',
    '--inventory',
    'lab',
    '--watch',
    '--every',
    '1',
    '--timeout',
    '3',
    '--json',
  );
  const latest = () => {
    const lines = run
      .output()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'));
    const document = JSON.parse(lines.at(-1) ?? '{"hosts":[]}') as Status;
    return document.hosts.map((host) => host.health);
  };
  const soon = { timeout: 60_000, interval: 200 };
  await expect.poll(latest, soon).toEqual(['healthy', 'healthy', 'healthy']);
  await $({ quiet: true })`docker pause rpc-lab-rpc-1`;
  try {
    await expect.poll(latest, soon).toEqual(['healthy', 'unreachable', 'healthy']);
  } finally {
    await $({ quiet: true })`docker unpause rpc-lab-rpc-1`;
  }
  await expect.poll(latest, soon).toEqual(['healthy', 'healthy', 'healthy']);
  run.child.kill('SIGINT');
  expect((await run.ended).exitCode).toBe(130);
});
