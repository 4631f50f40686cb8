import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { onHost, stateSql } from '../../deploy/lab-host.ts';
import type { Ended } from '../../deploy/playbook.ts';
import {
  type Archives,
  cleanUp,
  comesTo,
  deploy,
  emptied,
  good,
  prepare,
  running,
  start,
  succeeds,
} from './snapshot-runs.ts';

beforeAll(prepare);
afterEach(emptied);
afterAll(cleanUp);

/**
 * It failed with this message; nothing is marked as restored; nothing that uses the databases
 * runs.
 */
async function refused(run: Ended, words: RegExp): Promise<void> {
  expect(run.exitCode, run.output).toBe(1);
  expect(run.output).toMatch(words);
  await onHost('db-1', 'until docker exec state-db pg_isready -h 127.0.0.1 -q; do sleep 0.2; done');
  for (const database of ['state_db', 'prover_db']) {
    const mark = await stateSql(
      `select coalesce(shobj_description(oid, 'pg_database'), '') from pg_database where datname = '${database}'`,
    );
    expect(mark).not.toContain('complete');
  }
  expect(await onHost('db-1', `docker ps --format '{{.Names}}'`)).toBe('state-db');
}

function changed(archive: Buffer, at: number, byte: (old: number) => number): Buffer {
  const copy = Buffer.from(archive);
  copy[at] = byte(copy[at] ?? 0);
  return copy;
}

/** The day of the month in the header of a custom-format dump, in its integer format. */
const dayOfMonth = 32;
const half = (archive: Buffer) => archive.subarray(0, archive.length / 2);

describe('a snapshot archive is wrong: nothing is fetched, and it is said what it is', () => {
  test.each<[what: string, make: (good: Archives) => Partial<Archives>, words: RegExp]>([
    [
      'a real .tar.gz',
      ({ state }) => ({ state: gzipSync(state) }),
      /state_db\.sql\.tar\.gz is a gzip file \(a real \.tar\.gz\)/,
    ],
    [
      'a gzip file in place of the second',
      ({ prover }) => ({ prover: gzipSync(half(prover)) }),
      /prover_db\.sql\.tar\.gz is a gzip file/,
    ],
    ['an empty file', () => ({ state: Buffer.alloc(0) }), /state_db\.sql\.tar\.gz: it is empty/],
    [
      'a web page that says sorry',
      () => ({ prover: Buffer.from('<!DOCTYPE html><title>403</title>') }),
      /is a web page \(HTML\)/,
    ],
    ['noise', () => ({ state: Buffer.alloc(200_000, 7) }), /is an unknown kind of file/],
    [
      'the two archives swapped',
      ({ state, prover }) => ({ state: prover, prover: state }),
      /two archives are swapped/,
    ],
    [
      'archives of different days',
      ({ prover }) => ({ prover: changed(prover, dayOfMonth, (day) => (day % 28) + 1) }),
      /archives are of different days/,
    ],
    [
      'a dump that breaks off in its header',
      ({ state }) => ({ state: state.subarray(0, 20) }),
      /ends within its header/,
    ],
  ])('%s', async (_, make, words) => {
    const run = await deploy({ archives: make(good) });
    await refused(run, words);
    expect(await onHost('db-1', 'ls /data/snapshot 2>/dev/null || true')).not.toMatch(/testnet_/);
  });
});

describe('a download goes wrong', () => {
  test('an archive that is not the one whose SHA-256 the inventory has: refused, the next run succeeds', async () => {
    const archives = { state: changed(good.state, good.state.length / 2, (byte) => byte ^ 1) };
    await refused(
      await deploy({ archives, declared: good }),
      /is corrupted, or not the file that the inventory names/,
    );
    await succeeds();
  });

  test('an archive that was cut off: refused, the next run succeeds', async () => {
    await refused(
      await deploy({ archives: { prover: half(good.prover) }, declared: good }),
      /is corrupted, or not the file/,
    );
    await succeeds();
  });

  test('a server without ranges: works', () => succeeds({ behaviour: { withoutRanges: true } }));

  test('a connection that is reset three times: goes on where it broke off', () =>
    succeeds({ behaviour: { resets: 3 } }));

  test('a server without ranges whose connection is reset: starts again and works', () =>
    succeeds({ behaviour: { withoutRanges: true, resets: 2 } }));

  test('a server that stalls for ever: given up after a minute, goes on by another request', () =>
    succeeds({ behaviour: { stallsOnce: true } }));

  test('a server that answers 503 twice: works', () =>
    succeeds({ behaviour: { failing: { status: 503, times: 2 } } }));

  test('a server that answers 503 for ever: named, the next run succeeds', async () => {
    const failing = { status: 503, times: Number.POSITIVE_INFINITY };
    await refused(await deploy({ behaviour: { failing } }), /testnet_state_db.*HTTP 503/);
    await succeeds();
  });

  test('a server that answers 403: named at once, the next run succeeds', async () => {
    const failing = { status: 403, times: Number.POSITIVE_INFINITY };
    await refused(await deploy({ behaviour: { failing } }), /testnet_state_db\.sql\.tar\.gz answers 403/);
    await succeeds();
  });

  test('a disk that fills up during the download: named, the next run goes on with what was downloaded', async () => {
    const run = await start({ behaviour: { rate: 500_000 } });
    await running('rpc-playbooks-download-testnet_prover_db.sql.tar.gz-*');
    // But for 1 MB, also of the reserve of root, who downloads.
    await onHost(
      'db-1',
      `mkdir /data/filler; n=0
      for size in 4G 512M 64M 8M 1M; do
        while fallocate -l $size /data/filler/$n 2>/dev/null; do n=$((n + 1)); done
        rm -rf /data/filler/$n
      done
      rm /data/filler/$((n - 1))`,
    );
    await refused(await run.ended, /there is no room in|not enough room/);
    await onHost('db-1', 'rm -r /data/filler');
    await succeeds();
  });

  test('the unit that downloads is killed: named, the next run goes on with what was downloaded', async () => {
    const run = await start({ behaviour: { rate: 200_000 } });
    await running('rpc-playbooks-download-testnet_prover_db.sql.tar.gz-*');
    // Before its turn it would be started again, without a message.
    await comesTo('/data/snapshot/testnet_prover_db.sql.tar.gz is downloaded');
    await sleep(1000);
    await onHost('db-1', `systemctl kill -s KILL 'rpc-playbooks-download-testnet_prover*'`);
    await refused(await run.ended, /rpc-playbooks-download-testnet_prover\S* failed \(signal\)/);
    expect(
      Number(await onHost('db-1', 'stat -c %s /data/snapshot/testnet_prover_db.sql.tar.gz.part')),
    ).toBeGreaterThan(0);
    await succeeds();
  });
});

describe('a restore goes wrong: nothing starts on what is half restored', () => {
  test('the tool fails and ends with 0, for the state archive breaks off: shown by the content of the database', async () => {
    await refused(
      await deploy({ archives: { state: half(good.state) } }),
      /the state database is not restored: /,
    );
    await succeeds();
  });

  test('the tool fails and ends with 0, for the prover archive is corrupted: reported at the first attempt, in the words of pg_restore', async () => {
    const prover = Buffer.from(good.prover);
    prover.fill(0xff, 5_000_000, 5_004_096);
    await refused(
      await deploy({ archives: { prover } }),
      /the restore tool failed: (could not .*|pg_restore failed, and the tool lost the reason \(.*prover.* damaged\)); it skipped the hash database/,
    );
    await succeeds();
  });

  test('the tool skips the hash database and ends with 0, each time: reported, and given up', async () => {
    await onHost('db-1', 'systemctl set-environment STANDIN_RESTORE_SKIPS_HASH_DB=always');
    await refused(await deploy({}), /the restore tool failed 6 times: it skipped the hash database/);
    await onHost('db-1', 'systemctl unset-environment STANDIN_RESTORE_SKIPS_HASH_DB');
    await succeeds();
  });

  const unit = 'rpc-node-restore';
  test.each<[what: string, fault: string, words: RegExp]>([
    [
      'the restore is killed half-way',
      `systemctl kill -s KILL ${unit}`,
      /rpc-node-restore failed \(signal\)/,
    ],
    ['PostgreSQL is restarted half-way', 'docker restart -t 0 state-db', /not restored|could not be|failed/],
    [
      'the disk fills up half-way',
      'fallocate -l $(( $(df -B1 --output=avail /data | tail -1) - 100000 )) /data/filler',
      /not restored|could not be|failed/,
    ],
  ])('%s: named, the next run succeeds', async (_, fault, words) => {
    const run = await start({});
    await running(unit);
    await expect
      .poll(() => stateSql(`select count(*) from pg_stat_activity where application_name = 'pg_restore'`), {
        timeout: 60_000,
        interval: 20,
      })
      .not.toBe('0');
    await onHost('db-1', fault);
    const ended = await run.ended;
    await onHost('db-1', 'rm -rf /data/filler');
    await refused(ended, words);
    await succeeds();
  });

  test('the prover archive is corrupted, and pg_restore restores it: reported at the first time', async () => {
    const prover = Buffer.from(good.prover);
    prover.fill(0xff, 5_000_000, 5_004_096);
    const run = await deploy({ archives: { prover }, restoreWith: 'pg_restore' });
    await refused(run, /the prover database is not restored: .*pg_restore exited with 1/);
    await succeeds({ restoreWith: 'pg_restore' });
  });

  test.each<[what: string, fault: string, words: RegExp]>([
    ['it is killed half-way', `systemctl kill -s KILL ${unit}`, /rpc-node-restore failed \(signal\)/],
    ['PostgreSQL is restarted half-way', 'docker restart -t 0 state-db', /not restored|could not be|failed/],
  ])('pg_restore restores by several jobs, and %s: named, the next run succeeds', async (_, fault, words) => {
    const run = await start({ restoreWith: 'pg_restore' });
    await running(unit);
    await expect
      .poll(() => stateSql(`select count(*) from pg_stat_activity where application_name = '${unit}'`), {
        timeout: 60_000,
        interval: 20,
      })
      .not.toBe('0');
    await onHost('db-1', fault);
    await refused(await run.ended, words);
    await succeeds({ restoreWith: 'pg_restore' });
  });
});
