import { expect, test } from 'vitest';
import type { Finding } from '../../node/status/status.ts';
import { findingWords, offset } from './words.ts';

const behind = { is: 'behind', about: 'json-rpc', fault: true, behind: 132, block: 4120, of: 4252 } as const;
const hash = (digit: string) => `0x${digit.repeat(64)}`;

test.each<[Finding, string]>([
  [{ ...behind, stillFor: undefined, words: undefined }, 'json-rpc: 132 blocks behind (block 4,120 of 4,252)'],
  [
    { ...behind, about: 'sync', stillFor: 420, words: 'executor: refused' },
    'sync: 132 blocks behind (block 4,120 of 4,252), and no new one for 7 min 00 s; its last error: executor: refused',
  ],
  [
    { is: 'stale', about: 'sync', fault: true, block: 4120, stillFor: 301, words: undefined },
    'sync: no new block for 5 min 01 s (the newest is 4,120)',
  ],
  [{ is: 'halted', about: 'sync', fault: true, words: 'it diverged' }, 'sync: halted: it diverged'],
  [
    { is: 'diverged', about: 'json-rpc', fault: true, height: 4120, here: hash('a'), there: hash('b') },
    'json-rpc: diverged from the trusted sequencer: block 4,120 is 0xaaaaaaaa… here and 0xbbbbbbbb… there',
  ],
  [
    { is: 'stopped', about: 'json-rpc', fault: true, status: 'exited', exitCode: 137, forSeconds: 200 },
    'json-rpc: exited with 137, 3 min 20 s ago',
  ],
  [
    { is: 'restarting', about: 'sync', fault: true, restarts: 12, forSeconds: 4 },
    'sync: keeps restarting (12 times so far)',
  ],
  [
    { is: 'full', about: 'disk', fault: true, mount: '/data', usedPercent: 91, warnPercent: 85 },
    'disk: /data is 91% full (alert from 85%)',
  ],
  [
    { is: 'still', about: 'trusted sequencer', fault: false, block: 4252, stillFor: 12 },
    'trusted sequencer: it has itself made no block for 12 s (the newest is 4,252)',
  ],
  [
    { is: 'off-controller', about: 'clock', fault: false, seconds: -7 },
    "clock: 7.0 s behind this machine's; one of the two is wrong",
  ],
])('%j is said so', (finding, words) => {
  expect(findingWords(finding)).toBe(words);
});

test.each([
  [0.0000123, '12 µs ahead of'],
  [-0.0123, '12 ms behind'],
  [3.24, '3.2 s ahead of'],
])('a clock that is %f s off is %s', (value, words) => {
  expect(offset(value)).toBe(words);
});
