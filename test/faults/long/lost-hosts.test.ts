import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { $ } from 'zx';
import { hostNamed } from '../../../lab/layout.mjs';
import { labUp } from '../../../lab/up.mjs';
import { onHost } from '../../deploy/lab-host.ts';
import { measured } from '../measured.ts';
import { cleanUp, deploy, emptied, prepare, running, start, succeeds } from './snapshot-runs.ts';

const download = 'rpc-playbooks-download-testnet_prover_db.sql.tar.gz-*';
const run = $({ quiet: true });

beforeAll(prepare);
afterEach(emptied);
afterAll(cleanUp);

/** The systemd invocation id of the download. */
const invocation = () => onHost('db-1', `systemctl show --property InvocationID --value '${download}'`);

/** Drops packets from this machine to a host, so that neither side notices the lost connection. */
async function cutNetwork(host: string): Promise<() => Promise<void>> {
  const rule = ['OUTPUT', '--destination', hostNamed(host).address, '--jump', 'DROP'];
  await run`iptables --insert ${rule}`;
  let cut = true;
  const reconnect = async () => {
    if (cut) await run`iptables --delete ${rule}`;
    cut = false;
  };
  onTestFinished(reconnect);
  return reconnect;
}

describe('a long job goes on without us', () => {
  test('the controller is killed during a download: the next run watches the same one', async () => {
    // The next run builds the restore tool first, for 20 s and more.
    const killed = await start({ behaviour: { rate: 250_000 } }, '--role', 'snapshot');
    await running(download);
    const before = await invocation();
    killed.child.kill('SIGKILL');
    await killed.ended;
    const next = await start({}, '--role', 'snapshot', '--json');
    await expect.poll(next.output, { timeout: 60_000, interval: 50 }).toContain('"what":"downloading');
    expect(await invocation()).toBe(before);
    expect((await next.ended).exitCode, next.output()).toBe(0);
  });

  test('every SSH session of the host is killed during a download: reported, and the next run watches the same one', async () => {
    const cut = await start({ behaviour: { rate: 1_500_000 } }, '--role', 'snapshot');
    await running(download);
    const before = await invocation();
    await onHost('db-1', `pkill -KILL -f '^sshd: root'`);
    const ended = await cut.ended;
    expect([1, 4], ended.output).toContain(ended.exitCode);
    expect(ended.output).toMatch(/db-1.*connection was lost/);
    expect(await invocation()).toBe(before);
    expect((await deploy({ behaviour: { rate: 1_500_000 } }, '--role', 'snapshot')).exitCode).toBe(0);
  });

  test('the network is gone for 5 s during a download: the download goes on', async () => {
    const through = await start({ behaviour: { rate: 1_500_000 } }, '--role', 'snapshot');
    await running(download);
    const reconnect = await cutNetwork('db-1');
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    await reconnect();
    expect((await through.ended).exitCode, through.output()).toBe(0);
  });

  test('the network is gone for good during a download: reported in time, and the next run watches the same one', async ({
    task,
  }) => {
    const cut = await start({ behaviour: { rate: 200_000 } }, '--role', 'snapshot');
    await running(download);
    const before = await invocation();
    const reconnect = await cutNetwork('db-1');
    const since = performance.now();
    const ended = await cut.ended;
    const seconds = Math.round((performance.now() - since) / 1000);
    await reconnect();
    expect([1, 4], ended.output).toContain(ended.exitCode);
    expect(ended.output).toMatch(/db-1.*connection was lost/);
    expect(await invocation()).toBe(before);
    measured(task, `reported after ${seconds} s`);
    expect(seconds).toBeLessThan(120);
    await onHost('db-1', `systemctl stop '${download}'`);
    await succeeds();
  });
});

describe('a host goes away', () => {
  test('the host is rebooted during the restore: reported, and the next run restores the whole', async () => {
    const cut = await start({}, '--role', 'snapshot');
    await running('rpc-node-restore');
    await run`docker restart --time 0 rpc-lab-db-1`;
    const ended = await cut.ended;
    await labUp({ log: console.error });
    expect([1, 4], ended.output).toContain(ended.exitCode);
    expect(ended.output).toMatch(/db-1.*connection was lost/);
    // The snapshot role alone does not wait for it.
    await onHost('db-1', 'until docker exec state-db pg_isready -h 127.0.0.1 -q; do sleep 0.2; done');
    await succeeds();
  });
});
