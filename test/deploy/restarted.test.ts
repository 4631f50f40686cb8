import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { $ } from 'zx';
import { labUp } from '../../lab/up.mjs';
import { measured } from '../faults/measured.ts';
import { blockNumber, type LabHost, onHost, started, stateSql } from './lab-host.ts';
import { runPlaybook } from './playbook.ts';

const deploy = (...args: readonly string[]) => runPlaybook('deploy', '--inventory', 'lab', ...args);

beforeAll(async () => {
  await labUp({ log: console.error });
  const run = await deploy();
  expect(run.exitCode, run.output).toBe(0);
});

afterAll(() => stateSql('drop table if exists public.written'));

/** Waits for a condition; a command that fails is asked again. */
const until = (what: () => Promise<unknown>, expected: unknown) =>
  expect
    .poll(() => what().catch((error: Error) => error.message), { timeout: 180_000, interval: 1000 })
    .toEqual(expected);

/** Both RPC servers serve a block that is made from now on. */
async function blocksAreMade(): Promise<void> {
  for (const host of ['rpc-1', 'rpc-2']) {
    let first: number | undefined;
    await until(async () => {
      const now = await blockNumber(host);
      // While its database starts, the answer is an error.
      if (Number.isInteger(now)) first ??= now;
      return first !== undefined && now > first;
    }, true);
  }
}

async function nothingToChange(): Promise<void> {
  const check = await deploy('--check');
  expect(check.exitCode, check.output).toBe(0);
}

/**
 * Writes one row after another to the state database, in its container, beside the synchronizer.
 *
 * @returns ends it, and reads the last row that the server has confirmed, and the rows up to it
 */
async function writeAlways() {
  const writer = `n=0; rm -f /tmp/end /tmp/confirmed; until [ -e /tmp/end ]; do
    n=$((n + 1))
    if psql -XqU "$POSTGRES_USER" -d "$POSTGRES_DB" -c "insert into written values ($n)"; then echo "$n" >/tmp/confirmed; else sleep 0.2; fi
  done`;
  await stateSql('drop table if exists public.written; create table public.written (n bigint)');
  await onHost('db-1', `docker exec --detach state-db sh -c '${writer}'`);
  const confirmed = async () => Number(await onHost('db-1', 'docker exec state-db cat /tmp/confirmed'));
  await until(async () => (await confirmed()) > 20, true);
  return {
    confirmed,
    async end() {
      await onHost('db-1', 'docker exec state-db touch /tmp/end');
      const last = await confirmed();
      const kept = await stateSql(`select count(distinct n) from public.written where n <= ${last}`);
      const failed = last - Number(kept);
      return { last, failed };
    },
  };
}

/** Switches a host off and on again. */
async function reboot(host: LabHost): Promise<void> {
  await $({ quiet: true })`docker restart --time 150 rpc-lab-${host}`;
  await labUp({ log: console.error });
}

const since = (begin: number) => Math.round((performance.now() - begin) / 1000);

describe('A restart under write load', () => {
  test('Docker is restarted on the Database+Sync server: no container ends, and writes go on', async ({
    task,
  }) => {
    const before = await started('db-1');
    const load = await writeAlways();
    await onHost('db-1', 'systemctl restart docker.service');
    const at = await load.confirmed();
    await until(async () => (await load.confirmed()) > at, true);
    await blocksAreMade();
    const { last, failed } = await load.end();
    expect(failed).toBe(0);
    expect(await started('db-1')).toBe(before);
    await nothingToChange();
    measured(task, `${last} writes confirmed, ${failed} failed or lost; nothing to change`);
  });

  test('the Database+Sync server restarts: no confirmed write is lost, and all comes back without an operator', async ({
    task,
  }) => {
    const load = await writeAlways();
    const begin = performance.now();
    await reboot('db-1');
    await blocksAreMade();
    const seconds = since(begin);
    const { last, failed } = await load.end();
    expect(failed).toBe(0);
    await nothingToChange();
    measured(task, `new blocks after ${seconds} s; ${last} writes confirmed, ${failed} lost`);
  });
});

describe('A data disk is away after a restart', () => {
  test.for<[LabHost, string]>([
    ['db-1', 'state-db'],
    ['rpc-1', 'pool-db'],
  ])(
    'of %s: a deploy and the status name it, nothing starts on the root disk; all comes back with it',
    async ([host, database], { task }) => {
      const table = await onHost(host, 'cat /etc/fstab');
      const uuid = await onHost(
        host,
        'blkid -p -s UUID -o value "$(findmnt -rno SOURCE --mountpoint /data)"',
      );
      await onHost(host, "sed -i 's,^.* /data .*$,# away,' /etc/fstab");
      await reboot(host);
      const gone = new RegExp(
        `the disk that held /data/${database} \\(UUID ${uuid}, was \\S+ mounted at /data\\) is not mounted`,
      );

      const begin = performance.now();
      const refused = await deploy();
      const seconds = since(begin);
      expect(refused.exitCode, refused.output).toBe(1);
      expect(refused.output).toMatch(gone);
      const status = await runPlaybook('status', '--inventory', 'lab');
      expect(status.exitCode, status.output).toBe(1);
      expect(status.output).toMatch(gone);
      expect(await onHost(host, 'ls -A /data')).toBe('');
      expect(await onHost(host, 'systemctl is-active docker.service || :')).not.toBe('active');

      await onHost(host, `cat >/etc/fstab <<'END'\n${table}\nEND\nsystemctl daemon-reload; mount /data`);
      const back = performance.now();
      await until(() => onHost(host, `docker inspect --format '{{.State.Status}}' ${database}`), 'running');
      const seen = since(back);
      const run = await deploy();
      expect(run.exitCode, run.output).toBe(0);
      await blocksAreMade();
      await nothingToChange();
      measured(task, `refused after ${seconds} s; ${database} runs ${seen} s after the mount`);
    },
  );
});
