import { expect, test } from 'vitest';
import backup from '../../../roles/backup.ts';
import { Problems } from '../../engine/problem/problem.ts';
import { fakeHost, rootsFile, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';
import { serverLetsItselfBeCopied } from './source.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~4';
const withBackup = (settings: Record<string, unknown> = {}): Changes => [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
  [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD', ...settings }],
];

async function contexts(settings?: Record<string, unknown>) {
  const changes = withBackup(settings);
  return { server: await contextOf({ changes }), keeper: await contextOf({ changes, group: 'backup' }) };
}

async function problems(changes: Changes): Promise<string[]> {
  const error: unknown = await loadDeployment(await labDeployment(changes)).catch(
    (reason: unknown) => reason,
  );
  if (!(error instanceof Problems)) throw new Error('it was loaded');
  return error.problems.map(({ message }) => message);
}

test('an inventory says where the password is, and gives the backup a host of its own', async () => {
  expect(await problems([...withBackup(), [['vars', 'backup'], undefined]])).toEqual([
    'backup.password is missing, and the inventory has a host in group backup',
  ]);
  expect(
    await problems([...withBackup(), [['groups', 'backup', 'backup-2'], { address: '10.0.0.8' }]]),
  ).toEqual(['group backup has 2 hosts (backup-1, backup-2): there may be only one']);
  const shared: Changes = [...withBackup(), [['groups', 'backup'], { 'rpc-1': null }]];
  expect(await problems(shared)).toEqual(['rpc-1 is in group backup and in rpc']);
});

test('the server lets in the addresses of the backup host alone, and keeps log up to a limit', async () => {
  const { server, keeper } = await contexts({ most_kept: '7GB' });
  const resource = serverLetsItselfBeCopied(server, 'backup', [keeper.host]);
  const said: string[] = [];
  const answers = (exitCode: number) =>
    fakeHost([[/backup-source check/, { exitCode, stderr: 'psql: refused' }]], {
      container: async () => runningContainer,
    });
  expect(await resource.check(answers(0))).toEqual({ is: 'ok' });
  const verdict = await resource.check(answers(1));
  for (const step of verdict.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [])
    said.push(step.command);
  expect(said.join()).toContain(
    "backup-source apply rpc_node_backup state_user state_db 5432 7GB '' host 10.0.0.7/32",
  );
  expect(said.join()).not.toContain('backup.Pw~4');
  expect(await resource.check(fakeHost([]))).toEqual({ is: 'unknown', until: 'state-db is running' });
});

test("Barman's settings are the inventory's", async () => {
  const { keeper } = await contexts({ keep_days: 9, every_hours: 6 });
  const file = (await backup.resources(keeper)).find(
    ({ name }) => name === 'file /etc/barman.d/state-db.conf',
  );
  const verdict = await file?.check(fakeHost([]));
  const text =
    verdict?.is === 'drift' ? (verdict.differences.find(({ what }) => what === 'content')?.wanted ?? '') : '';
  expect(text).toContain('conninfo = host=172.30.77.11 port=5432 user=rpc_node_backup dbname=state_db');
  expect(text).toContain('retention_policy = RECOVERY WINDOW OF 9 DAYS');
  expect(text).toContain('last_backup_maximum_age = 13 HOURS');
  expect(text).toContain('backup_compression = zstd\n');
  expect(text).not.toMatch(/\{\{|undefined/);
});

test('the drill has a timer only where the inventory asks for it', async () => {
  const names = async (settings?: Record<string, unknown>) =>
    (await backup.resources((await contexts(settings)).keeper)).map(({ name }) => name);
  expect(await names()).not.toContain('schedule rpc-node-recovery-drill');
  expect(await names({ drill_hours: 24 })).toContain('schedule rpc-node-recovery-drill');
});

test('a base backup that is there is not made again, unless it is corrupt', async () => {
  const { keeper } = await contexts();
  const first = (await backup.resources(keeper)).find(({ name }) => name === 'a base backup is there');
  const whole = [/newest-base \/data\/backup\/state-db$/, '2026-11-26T03:12:45Z\n'] as const;
  expect(await first?.check(fakeHost([whole]))).toEqual({ is: 'ok' });
  const corrupt = fakeHost([whole], {
    stat: async (path) => (path.endsWith('verify-failed') ? rootsFile : undefined),
  });
  expect(await first?.check(corrupt)).toMatchObject({
    is: 'drift',
    note: 'the newest base backup is corrupt',
  });
  expect(await first?.check(fakeHost([]))).toMatchObject({
    is: 'drift',
    note: 'there is no whole base backup',
  });
});
