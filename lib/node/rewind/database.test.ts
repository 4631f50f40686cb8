import { expect, test } from 'vitest';
import { describeVerdict, ok, refusalOf, unknownUntil } from '../../engine/resource/resource.ts';
import { alone } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { type Diverged, divergedHost } from '../testing/diverged-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { stateIsRewound } from './database.ts';
import { stoppedMark } from './stopped-mark.ts';

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
  expect(ran).toEqual([`install -D -m 644 /dev/null ${stoppedMark} && docker stop --time 120 sync`]);
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

test('what is found after the stop is judged again: another block, or an older one, is not deleted', async () => {
  const isStopped =
    'sync is stopped, and this run deleted nothing. The next run starts sync: where the chains agree at once, or else after the deletion';
  const { allowed, blocks } = await resources({ to: '9' });
  expect(await allowed.check(divergedHost({ parts: 10 }).host)).toEqual(ok);
  expect(await blocks.check(divergedHost({ parts: 10 }).host)).toMatchObject({ change: [{}] });
  const deeper = await blocks.check(divergedHost({ parts: 5, isRunning: false }).host);
  expect(describeVerdict(deeper)).toBe('--to 9 is not the block at which the rewind ends: that is 4');
  expect(refusalOf(deeper)?.hint).toBe(`${isStopped}. look at what goes, and type its number: --to 4`);
  const planned = await blocks.check(divergedHost({ parts: 5 }).host);
  expect(refusalOf(planned)?.hint).toBe('look at what goes, and type its number: --to 4');
});

test('who loses the sequencer reads whether sync is stopped', async () => {
  const { allowed, blocks } = await resources();
  expect(allowed.hint).toMatch(/\. This run stopped nothing and deleted nothing$/);
  expect(blocks.hint).toMatch(
    /^sync is stopped, .* check network\.trusted_sequencer_url, .*, and run again$/,
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
          hint: 'sync is stopped: run again. The next run starts it, and says so if PostgreSQL still deletes',
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
  expect(ran).toEqual([`docker start sync && rm -f ${stoppedMark}`]);
  expect(await starts.check(stoppedAt(after).host)).toEqual(ok);
  expect(await starts.check(divergedHost({ rewound, started: before }).host)).toEqual(ok);
  expect(await starts.check(divergedHost({ rewound, without: 'state-db' }).host)).toEqual(
    unknownUntil('state-db answers SQL'),
  );
});

test('where the chains agree sync starts again if a killed rewind has stopped it', async () => {
  const { starts } = await resources();
  const stoppedAt = (started: string) => divergedHost({ stopped: rewound, started, isRunning: false });
  const { host, ran } = stoppedAt(before);
  await expect(applyDrift(host, starts)).rejects.toThrow('container sync');
  expect(ran).toEqual([`docker start sync && rm -f ${stoppedMark}`]);
  expect(await starts.check(stoppedAt(after).host)).toEqual(ok);
  expect(await starts.check(divergedHost({ stopped: rewound, started: before }).host)).toEqual(ok);
  expect(await starts.check(divergedHost({ started: before, isRunning: false }).host)).toEqual(ok);
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

test('nothing is stopped or deleted without a whole backup, unless the block was typed', async () => {
  const problems = 'no backup: there is no whole base backup\n';
  const seen = async (name: string, given: Readonly<Record<string, string>>, backupProblems: string) => {
    const { stopped, blocks } = await resources(given);
    const { host } = divergedHost({ name, backupProblems });
    const verdicts = [stopped, blocks].map(({ everyHost }) => everyHost?.check(host, [], alone));
    const words = (await Promise.all(verdicts)).map((verdict) => verdict && describeVerdict(verdict));
    expect(words[0]).toBe(words[1]);
    return words[0];
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
