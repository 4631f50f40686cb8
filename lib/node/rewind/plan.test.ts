import { expect, test } from 'vitest';
import { describeVerdict, ok, refusalOf } from '../../engine/resource/resource.ts';
import { contextOf } from '../testing/role-context.ts';
import type { Rewind } from './found.ts';
import { differencesOf, judgeRewind } from './plan.ts';

process.env.BACKUP_PASSWORD = 'backup.Pw~5';

const made = 1_764_000_000;
const layer2 = {
  common: 17,
  wrong: { block: 18, hash: '0x18' },
  left: { block: 15, hash: '0x15' },
  newest: 30,
  firstBatch: 6,
  lastBatch: 10,
  virtual: 0,
  made,
  written: made + 2,
  kept: undefined,
};
const layer1 = {
  common: 102,
  wrong: { block: 103, hash: '0x103' },
  newest: 190,
  blocks: 5,
  virtual: 3,
  forced: undefined,
};
const found: Rewind = { layer2, layer1: undefined };

async function deployment(to?: string, hasBackup = false) {
  const { hosts } = await contextOf({
    changes: hasBackup
      ? [
          [['groups', 'backup'], { 'backup-1': { address: '172.30.77.41' } }],
          [['vars', 'backup'], { password: 'env:BACKUP_PASSWORD' }],
        ]
      : [],
  });
  return { hosts, given: to === undefined ? {} : { to } };
}

const judged = async (rewind: Rewind, to?: string, hasBackup = false, age = 60) => {
  const verdict = judgeRewind(rewind, await deployment(to, hasBackup), made + age);
  return verdict.is === 'ok' ? 'ok' : [describeVerdict(verdict), refusalOf(verdict)?.hint];
};

const typed = (block: number) => `look at what goes, and type its number: --to ${block}`;

test('with a backup nothing has to be typed; without one the number of the block', async () => {
  expect(await judged(found, undefined, true)).toBe('ok');
  expect(await judged(found)).toEqual([
    'the rewind to block 15 has no way back: the inventory has no host in group backup, and no physical snapshot of all that goes',
    typed(15),
  ]);
  expect(await judged(found, '15')).toBe('ok');
});

test('another number than that of the found block is refused, with a backup, too', async () => {
  for (const hasBackup of [true, false])
    expect(await judged(found, '17', hasBackup)).toEqual([
      '--to 17 is not the block at which the rewind ends: that is 15',
      typed(15),
    ]);
});

test('more than a day, or layer 1, has to be typed', async () => {
  expect(await judged(found, undefined, true, 2 * 86_400)).toEqual([
    'block 18 is 48 h 00 min old, more than a day',
    typed(15),
  ]);
  expect(await judged(found, '15', true, 2 * 86_400)).toBe('ok');
  expect(await judged({ layer2: undefined, layer1 }, undefined, true)).toEqual([
    'blocks of layer 1 go, down to 102',
    `check network.l1_rpc_url first. If it is right, ${typed(102)}`,
  ]);
  expect(await judged({ layer2: undefined, layer1 }, '102')).toBe('ok');
  expect(await judged({ layer2, layer1 }, '15')).toBe('ok');
});

test('a batch that stays and needs a block of layer 1 that goes is refused', async () => {
  const forced = { ...layer1, forced: 4 };
  expect(await judged({ layer2, layer1: forced }, '15')).toEqual([
    'batch 4 holds a forced batch of a block of layer 1 that would go',
    'restore a snapshot: the node cannot undo this, either',
  ]);
  expect(await judged({ layer2, layer1: { ...layer1, forced: 6 } }, '15')).toBe('ok');
  expect(judgeRewind(found, await deployment('15'), made)).toEqual(ok);
});

test('the plan shows what goes, since when, and the way back', async () => {
  expect(differencesOf({ layer2: { ...layer2, virtual: 2 }, layer1 }, await deployment())).toEqual([
    { what: 'newest block', was: '30', wanted: '15 (0x15)' },
    {
      what: 'goes',
      was: '15 blocks, in batches 6 to 10, 2 of them on layer 1 already',
      wanted: 'the blocks of the trusted sequencer',
    },
    {
      what: 'since',
      was: 'block 18 (0x18), made 2025-11-24T16:00:00Z, written 2025-11-24T16:00:02Z',
      wanted: 'agrees up to block 17; a batch goes as a whole',
    },
    { what: 'newest block of layer 1', was: '190', wanted: '102' },
    { what: 'goes of layer 1', was: '5 blocks, with 3 virtual batches', wanted: 'what layer 1 has' },
    {
      what: 'the way back',
      was: 'none: no backup, and no physical snapshot of all that goes',
      wanted: 'the blocks are synchronized again',
    },
  ]);
  expect(differencesOf(found, await deployment(undefined, true)).at(-1)).toEqual({
    what: 'the way back',
    was: 'the backup on backup-1',
    wanted: 'recover.mjs --to-time, with a time before this run',
  });
});
