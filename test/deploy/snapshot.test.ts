import { expect, test } from 'vitest';
import { onHost, stateSql } from './lab-host.ts';
import { labInventoryWith } from './lab-inventory.ts';
import { runPlaybook, startPlaybook } from './playbook.ts';

// A snapshot of the lab's deployment, while the chain runs.

const folder = `/data/snapshots/${process.pid}`;
const take = (...args: readonly string[]) =>
  ['--inventory', 'lab', '--to', folder, '--yes', ...args] as const;
const manifestIn = async (host: string, place: string) =>
  JSON.parse(await onHost(host, `cat ${place}/manifest.json`));

test('check mode takes none', async () => {
  const { exitCode, output } = await runPlaybook('snapshot', ...take('--check'));
  expect(exitCode, output).toBe(2);
  expect(await onHost('db-1', `ls ${folder} 2>/dev/null || :`)).toBe('');
});

test('a snapshot is of one moment, and its run may be killed', async () => {
  const killed = startPlaybook('snapshot', ...take());
  for (let i = 0; i < 600 && !(await onHost('db-1', `ls -A ${folder} 2>/dev/null || :`)); i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  killed.child.kill('SIGKILL');
  await killed.ended;
  const { exitCode, output } = await runPlaybook('snapshot', ...take('--break-lock'));
  expect(exitCode, output).toBe(0);
  expect(await onHost('db-1', `ls -A ${folder} | sort`)).toBe(
    'manifest.json\ntestnet_prover_db.sql.tar.gz\ntestnet_state_db.sql.tar.gz',
  );
  const { block, hash, state, prover } = await manifestIn('db-1', folder);
  expect(await stateSql(`select block_hash from state.l2block where block_num = ${block}`)).toBe(hash);
  const sums = await onHost(
    'db-1',
    `cd ${folder} && sha256sum testnet_state_db.sql.tar.gz testnet_prover_db.sql.tar.gz`,
  );
  expect(sums.split('\n').map((line) => line.split(' ')[0])).toEqual([state.sha256, prover.sha256]);
  // The newest block in the archive is that of the manifest, and not one that came later.
  const dumped = await onHost(
    'db-1',
    `pg_restore --data-only --table l2block --file - ${folder}/testnet_state_db.sql.tar.gz |
      sed -n '/^COPY/,/^\\\\\\./p' | awk -F '\\t' '$1 + 0 > newest { newest = $1 + 0 } END { print newest }'`,
  );
  expect(Number(dumped)).toBe(block);
});

test('the synchronizer goes on, and the next run has nothing to do', async () => {
  const newest = async () => Number(await stateSql('select max(block_num) from state.l2block'));
  const before = await newest();
  await expect.poll(newest, { timeout: 60_000 }).toBeGreaterThan(before);
  const { exitCode, output } = await runPlaybook('snapshot', ...take());
  expect(exitCode, output).toBe(0);
  expect(output).toMatch(/^db-1 +\d+ +0 +0 /m);
});

test('a snapshot on another host; what is not of one stays', async () => {
  const file = await labInventoryWith({});
  const to = (place: string) => runPlaybook('snapshot', '--inventory', file, '--to', place, '--yes');
  const other = await to(`rpc-1:${folder}`);
  expect(other.exitCode, other.output).toBe(0);
  expect((await manifestIn('rpc-1', folder)).network).toBe('test');
  await onHost('rpc-1', `rm -r ${folder}; mkdir -p ${folder}; echo mine >${folder}/mine`);
  const refused = await to(`rpc-1:${folder}`);
  expect(refused.exitCode, refused.output).toBe(1);
  expect(refused.output).toContain(`${folder} holds mine, which is not of a snapshot`);
  expect(await onHost('rpc-1', `cat ${folder}/mine; rm -r ${folder}`)).toBe('mine');
});

test('a dump that is killed leaves nothing that looks whole, and the lock ends with it', async () => {
  await onHost('db-1', `rm -rf ${folder}`);
  const run = startPlaybook('snapshot', ...take());
  await expect
    .poll(() => onHost('db-1', `ls -A ${folder} 2>/dev/null || :`), { timeout: 60_000 })
    .toContain('.part');
  await onHost('db-1', 'systemctl kill --signal KILL rpc-node-snapshot 2>/dev/null || :');
  const { exitCode } = await run.ended;
  const left = await onHost('db-1', `ls -A ${folder}`);
  // It may have ended before the signal.
  expect(left.includes('manifest.json')).toBe(exitCode === 0);
  expect(
    await stateSql(
      "select count(*) from pg_locks where mode = 'ShareLock' and relation = 'state.l2block'::regclass",
    ),
  ).toBe('0');
  const again = await runPlaybook('snapshot', ...take());
  expect(again.exitCode, again.output).toBe(0);
  await onHost('db-1', `rm -r ${folder}`);
});
