import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { labHosts, onHost, rpc, stateSql } from './lab-host.ts';
import { folderForTest, labInventoryWith } from './lab-inventory.ts';
import { runPlaybook } from './playbook.ts';

// Barman, recovery and drill on the lab. rpc-2 is the backup host here.

let inventory: string;

beforeAll(async () => {
  await labUp({ log: console.error });
  await resetHosts([...labHosts]);
  const password = join(await folderForTest(), 'password');
  await writeFile(password, `${randomBytes(12).toString('hex')}\n`, { mode: 0o600 });
  inventory = await labInventoryWith({
    'groups.rpc.rpc-2': undefined,
    'groups.backup': { 'rpc-2': { address: '172.30.77.13', user: 'operator' } },
    'vars.backup': { password: `file:${password}`, most_kept: '96MB' },
  });
  const { exitCode, output } = await runPlaybook('deploy', '--inventory', inventory, '--yes');
  expect(exitCode, output).toBe(0);
});

const newest = async () => Number(await stateSql('select max(block_num) from state.l2block'));
const hashOf = (block: number) => stateSql(`select block_hash from state.l2block where block_num = ${block}`);
const recover = (...args: readonly string[]) =>
  runPlaybook('recover', '--inventory', inventory, '--yes', ...args);

/** What the check of the repository says now. */
const problems = () =>
  onHost('rpc-2', 'systemctl start rpc-node-backup-check.service; cat /var/lib/rpc-node/backup/problems');
const until = (what: () => Promise<unknown>, expected: unknown) =>
  expect.poll(what, { timeout: 240_000, interval: 3000 }).toEqual(expected);

describe('backups and recoveries', () => {
  test('the repository has a backup and receives the log, and a second deploy has nothing to do', async () => {
    await until(problems, '');
    const { exitCode, output } = await runPlaybook('deploy', '--inventory', inventory, '--check');
    expect(exitCode, output).toBe(0);
    const status = await runPlaybook('status', '--inventory', inventory);
    expect(status.output).toMatch(/rpc-2.*healthy/);
    expect(
      await onHost(
        'rpc-2',
        'grep -rl "$(cut -d: -f5 /var/lib/barman/.pgpass)" /etc/barman.d /run/rpc-playbooks /etc/systemd || :',
      ),
    ).toBe('');
  });

  test('a drill passes only when the blocks match', async () => {
    const good = await recover('--to-time', 'latest', '--drill');
    expect(good.exitCode, good.output).toBe(0);
    expect(good.output).toMatch(/the newest drill that passed.*PASS: \d+ blocks up to \d+ match/s);
    expect(await onHost('rpc-2', 'cat /var/lib/rpc-node/backup/drill-passed')).toMatch(
      /^PASS: \d+ blocks up to \d+ match/,
    );
    const changed = await stateSql(
      `update state.l2block set block_hash = '0xff' || block_hash where block_num = 1 returning block_num`,
    );
    expect(changed).toBe('1');
    // A time before the change.
    const before = await stateSql(
      "select to_char(now() at time zone 'utc' - interval '5 seconds', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
    );
    const bad = await recover('--to-time', before, '--drill');
    await stateSql(`update state.l2block set block_hash = substr(block_hash, 5) where block_num = 1`);
    expect(bad.exitCode, bad.output).toBe(1);
    expect(bad.output).toContain('are not those of the running database');
    await until(problems, expect.stringContaining('the recovery drill failed'));
    expect((await recover('--to-time', 'latest', '--drill')).exitCode).toBe(0);
    await until(problems, '');
  });

  test('a server whose data is lost is rebuilt, and hardly a write is lost', async () => {
    const at = await newest();
    // A power cut: nothing is written or sent any more.
    await onHost(
      'db-1',
      'docker kill state-db sync prover >/dev/null; mv /data/state-db /data/state-db.lost',
    );
    // A deploy would begin without the data, and spoil the backups.
    const refused = await runPlaybook('deploy', '--inventory', inventory, '--check');
    expect(refused.exitCode, refused.output).toBe(1);
    expect(refused.output).toContain('rpc-2: /data/backup/state-db holds backups of a database server');
    const start = Date.now();
    const { exitCode, output } = await recover('--to-time', 'latest', '--to-server', 'db-1');
    expect(exitCode, output).toBe(0);
    console.log(`recovered in ${Math.round((Date.now() - start) / 1000)} s`);
    const log = await onHost('rpc-2', 'ls /data/backup');
    expect(log).not.toContain('recovery');
    const written = await stateSql(`select count(*) from state.l2block where block_num <= ${at}`);
    console.log(`blocks up to ${at} before the power cut: ${written} are there`);
    const kept = await onHost('db-1', 'docker logs state-db 2>&1 | grep -c "archive recovery complete"');
    expect(Number(kept)).toBeGreaterThan(0);
    const known = (await rpc('rpc-1', 'eth_getBlockByNumber', [`0x${at.toString(16)}`, false])) as {
      hash: string;
    };
    expect(await hashOf(at)).toBe(known.hash);
    // What was written since is of another timeline than the base backup.
    await until(problems, '');
    const later = await newest();
    const drill = await recover('--to-time', 'latest', '--drill');
    expect(drill.exitCode, drill.output).toBe(0);
    const [, upTo = ''] =
      /up to (\d+) match/.exec(await onHost('rpc-2', 'cat /var/lib/rpc-node/backup/drill-passed')) ?? [];
    expect(Number(upTo)).toBeGreaterThanOrEqual(later);
    await onHost('db-1', 'rm -r /data/state-db.lost');
  });

  test('data that is there is never replaced, unless it is put aside', async () => {
    const refused = await recover('--to-time', 'latest');
    expect(refused.exitCode, refused.output).toBe(1);
    expect(refused.output).toContain('/data/state-db holds other data, which is not replaced');
    expect(await onHost('db-1', 'docker inspect --format "{{.State.Running}}" state-db sync')).toBe(
      'true\ntrue',
    );
  });

  test('a server goes back to a time, and its data are put aside', async () => {
    await stateSql("create table public.marks (what text); insert into public.marks values ('before')");
    await onHost('db-1', 'sleep 2');
    const time = await stateSql('select to_char(now() at time zone \'utc\', \'YYYY-MM-DD"T"HH24:MI:SS"Z"\')');
    await onHost('db-1', 'sleep 2');
    await stateSql("insert into public.marks values ('after'); select pg_switch_wal()");
    await until(problems, '');
    const { exitCode, output } = await recover('--to-time', time, '--set-aside');
    expect(exitCode, output).toBe(0);
    expect(await stateSql('select what from public.marks')).toBe('before');
    expect(await onHost('db-1', 'ls -d /data/state-db.before-*/PG_VERSION | wc -l')).toBe('1');
    const at = await newest();
    await until(async () => (await newest()) > at, true);
    await onHost('db-1', 'rm -r /data/state-db.before-*');
    await stateSql('drop table public.marks');
    // What it has is of a history that ended: the operator says that the next one follows
    // (docs/data.md).
    await onHost('rpc-2', 'runuser -u barman -- barman receive-wal --reset state-db');
    await until(problems, '');
  });

  test('log that the backup host does not fetch does not stop the server, and is reported as a gap', async () => {
    await onHost('rpc-2', 'systemctl stop cron; pkill -x pg_receivewal || :');
    await until(problems, expect.stringContaining('archive behind'));
    await stateSql('create table if not exists public.filler (data text)');
    for (let i = 0; i < 16; i++) {
      await stateSql(
        'insert into public.filler select repeat(md5(i::text), 300) from generate_series(1, 1200) i; select pg_switch_wal(); checkpoint',
      );
    }
    expect(await stateSql("select wal_status from pg_replication_slots where slot_name = 'barman'")).toBe(
      'lost',
    );
    expect(await newest()).toBeGreaterThan(0);
    expect(await problems()).toContain(
      'gap in the write-ahead log: the server dropped what was not received',
    );
    const status = await runPlaybook('status', '--inventory', inventory);
    expect(status.exitCode).not.toBe(0);
    expect(status.output).toContain('gap in the write-ahead log');
    await stateSql("drop table public.filler; select pg_drop_replication_slot('barman')");
    await onHost('rpc-2', 'systemctl start cron');
  });

  test('a corrupt base backup is found by the drill', async () => {
    await onHost(
      'rpc-2',
      `for file in /data/backup/state-db/base/*/data/pieces/piece-*; do
       printf 'corrupt' | dd of="$file" bs=1 seek=9000 conv=notrunc 2>/dev/null; done`,
    );
    const { exitCode, output } = await recover('--to-time', 'latest', '--drill');
    expect(exitCode, output).toBe(1);
    expect(output).toMatch(/the base backup \w+ is corrupt: piece-\d+/);
  });
});
