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
  [{ is: 'docker-down', about: 'docker', fault: true, state: 'failed' }, 'docker: the engine does not run (failed)'],
  [{ is: 'missing', about: 'prover', fault: true }, 'prover: there is no such container, and this host should run it'],
  [
    { is: 'out-of-place', about: 'sync', fault: true },
    'sync: runs here, and should not: two synchronizers on one database corrupt it',
  ],
  [{ is: 'out-of-place', about: 'json-rpc', fault: true }, 'json-rpc: runs here, and should not'],
  [
    { is: 'restarted', about: 'sync', fault: false, restarts: 1, forSeconds: 90 },
    'sync: was restarted once by Docker, and has run for 90 s',
  ],
  [{ is: 'unhealthy', about: 'prover', fault: true }, 'prover: runs, and its own health check says unhealthy'],
  [
    { is: 'wrong-image', about: 'prover', fault: true, running: 'prover:v5', wanted: 'prover:v6' },
    'prover: runs prover:v5, and the inventory says prover:v6',
  ],
  [
    { is: 'other-configuration', about: 'prover', fault: true },
    "prover: runs with a configuration that is not the inventory's: deploy.mjs --check shows what differs",
  ],
  [{ is: 'ahead', about: 'json-rpc', fault: true, ahead: 2 }, 'json-rpc: 2 blocks ahead of the trusted sequencer'],
  [
    { is: 'not-compared', about: 'json-rpc', fault: true, error: 'no answer' },
    'json-rpc: block hashes could not be compared with the trusted sequencer: no answer',
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
