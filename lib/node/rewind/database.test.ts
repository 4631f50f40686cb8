import { expect, test } from 'vitest';
import { describeVerdict, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { alone } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { type Diverged, divergedHost } from '../testing/diverged-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { stateIsRewound } from './database.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~5';

/** When the state database was rewound. */
const rewound = 1_764_151_200;
const before = new Date((rewound - 60) * 1000).toISOString();
const after = new Date((rewound + 60) * 1000).toISOString();

/** Of layer 1 the lab's chain id is another one. */
async function resources(given: Readonly<Record<string, string>> = {}) {
  const context = await contextOf({
    changes: [
      [['groups', 'backup'], { 'backup-1': { address: '172.30.77.41' } }],
      [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
      [['vars', 'network', 'chain_id'], 686_868],
    ],
  });
  const [allowed, stopped, blocks, starts, goesOn] = stateIsRewound({ ...context, given });
  if (!allowed || !stopped || !blocks || !starts || !goesOn) throw new Error('a rewind has five parts');
  return { allowed, stopped, blocks, starts, goesOn };
}

test('where the chains part, sync is stopped, and then the blocks go', async () => {
  const { allowed, stopped, blocks } = await resources();
  const { host, ran } = divergedHost({ parts: 10 });
  expect(await allowed.check(host)).toEqual(ok);
  await applyDrift(host, stopped);
  expect(ran).toEqual(['docker stop --time 120 sync']);
  expect(await stopped.check(divergedHost({ parts: 10, isRunning: false }).host)).toEqual(ok);
  expect(describeVerdict(await blocks.check(host))).toContain('newest block: 20 -> 9 (0xa9)');
  const { error } = await applyDrift(host, blocks).then(
    () => ({ error: undefined }),
    (reason) => ({ error: reason }),
  );
  expect(String(error)).toContain('the deletion is tried on a real server');
  expect(ran.at(-1)).toContain('delete from state.batch where batch_num > 9');
});

test('where they agree nothing is stopped, deleted or started', async () => {
  for (const resource of Object.values(await resources())) {
    const { host, ran } = divergedHost({ isRunning: false });
    expect(await resource.check(host), resource.name).toEqual(ok);
    expect(ran).toEqual([]);
  }
});

test('without the trusted sequencer, or the first wrong block, only the reason is shown', async () => {
  const { allowed, stopped, blocks } = await resources();
  const seen = async (given: Diverged) => describeVerdict(await allowed.check(divergedHost(given).host));
  expect(await seen({ parts: 10, without: 'sequencer' })).toMatch(/ does not answer: Connection refused$/);
  expect(await seen({ parts: 10, without: 'first wrong block' })).toBe('block 10 is gone');
  expect(await seen({ parts: 10, without: 'state-db' })).toBe('no answer');
  for (const resource of [stopped, blocks])
    expect(await resource.check(divergedHost({ parts: 10, without: 'sequencer' }).host)).toEqual(
      unknownUntil('the chains can be compared'),
    );
});

test('a failed deletion says that nothing was deleted', async () => {
  const { blocks } = await resources();
  const seen = await blocks.check(divergedHost({ parts: 10 }).host);
  expect(seen).toMatchObject({
    change: [
      {
        failure: {
          what: 'nothing was deleted',
          hint: 'sync is stopped: run again, or start it as it was with docker start sync',
        },
      },
    ],
  });
});

test('sync starts again after a rewind, and not where the operator has stopped it since', async () => {
  const { starts } = await resources();
  const stoppedAt = (started: string) => divergedHost({ rewound, started, isRunning: false });
  const { host, ran } = stoppedAt(before);
  expect(describeVerdict(await starts.check(host))).toBe('sync: exited -> running');
  await expect(applyDrift(host, starts)).rejects.toThrow('container sync');
  expect(ran).toEqual(['docker start sync']);
  expect(await starts.check(stoppedAt(after).host)).toEqual(ok);
  expect(await starts.check(divergedHost({ rewound, started: before }).host)).toEqual(ok);
  expect(await starts.check(divergedHost({ rewound, without: 'state-db' }).host)).toEqual(
    unknownUntil('state-db answers SQL'),
  );
});

test('sync has gone on when it has written a right block, or has all', async () => {
  const { goesOn } = await resources();
  const seen = async (given: Diverged) =>
    describeVerdict(await goesOn.check(divergedHost({ rewound, ...given }).host));
  expect(await seen({ written: rewound + 1 })).toBe('ok');
  expect(await seen({ written: rewound - 1 })).toBe('unknown until sync writes a block');
  expect(await seen({ written: rewound - 1, newest: 40 })).toBe('ok');
  expect(await seen({ written: rewound + 1, parts: 10 })).toBe(
    'unknown until the newest block is one of the trusted sequencer',
  );
  expect(await seen({ without: 'state-db' })).toBe('unknown until state-db answers SQL');
});

test('nothing is stopped without a whole backup, unless the block was typed', async () => {
  const problems = 'no backup: there is no whole base backup\n';
  const seen = async (name: string, given: Readonly<Record<string, string>>, backupProblems: string) => {
    const { stopped } = await resources(given);
    const { host } = divergedHost({ name, backupProblems });
    const verdict = await stopped.everyHost?.check(host, [], alone);
    return verdict && describeVerdict(verdict);
  };
  expect(await seen('backup-1', {}, problems)).toBe('backup: no backup: there is no whole base backup');
  expect(await seen('backup-1', { to: '9' }, problems)).toBe('ok');
  expect(await seen('backup-1', {}, '')).toBe('ok');
  expect(await seen('rpc-1', {}, problems)).toBe('ok');
});

test('a synchronizer anywhere keeps the blocks', async () => {
  const { blocks } = await resources();
  const { host } = divergedHost({ name: 'rpc-1', synchronizers: 'container sync running' });
  expect(await blocks.everyHost?.check(host, [], alone)).toMatchObject({
    note: 'the container sync is running',
  });
});
