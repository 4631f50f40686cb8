import { expect, test } from 'vitest';
import { play } from './playbook.ts';
import { batchesOf, countOf, type Serial } from './rolling.ts';

const hosts = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const sizes = (serial: Serial, count = 8, total = 8) =>
  batchesOf(hosts.slice(0, count), serial, total).map((batch) => batch.length);

test.each<[Serial, number[]]>([
  [1, [1, 1, 1, 1, 1, 1, 1, 1]],
  [3, [3, 3, 2]],
  [20, [8]],
  ['25%', [2, 2, 2, 2]],
  ['1%', [1, 1, 1, 1, 1, 1, 1, 1]],
  ['100%', [8]],
  [
    [1, '25%'],
    [1, 2, 2, 2, 1],
  ],
  [
    [1, 2, '50%'],
    [1, 2, 4, 1],
  ],
])('serial %j makes batches of %j', (serial, expected) => {
  expect(sizes(serial)).toEqual(expected);
});

test('a share is of all hosts, not of those with something to change', () => {
  expect(sizes('25%', 3, 8)).toEqual([2, 1]);
  expect(sizes(1, 0)).toEqual([]);
});

test('each host is in one batch, in order', () => {
  expect(batchesOf(hosts, [1, '25%'], 8).flat()).toEqual(hosts);
});

test('a share is rounded down', () => {
  expect([countOf('25%', 4), countOf('25%', 7), countOf('25%', 3), countOf(2, 3)]).toEqual([1, 1, 0, 2]);
});

test.each([
  [{ serial: -1 }, -1],
  [{ serial: [1, 1.5] }, 1.5],
  [{ serial: 'all%' as '1%' }, 'all%'],
  [{ maxFail: -1 }, -1],
] as const)('refused: %j', (options, wrong) => {
  const words = `play "p": ${wrong} is neither a number of hosts nor a share such as 25%`;
  expect(() => play('p', { hosts: 'all', roles: [], ...options })).toThrow(new TypeError(words));
});

test.each([
  [{ hosts: 'all', roles: [], serail: 1 }, 'play "p" has no option serail: did you mean serial?'],
  [
    { hosts: 'all', roles: [], anyErrorFatal: true },
    'has no option anyErrorFatal: did you mean anyErrorsFatal?',
  ],
  [{ roles: [] }, `play "p" needs hosts, a host pattern such as 'rpc'`],
  [{ hosts: 'all', role: [] }, 'play "p" has no option role: did you mean roles?'],
  [{ hosts: 'all' }, `play "p" needs roles, a list: await roles('one', 'other') gives it`],
  [{ hosts: 'all', roles: Promise.resolve([]) }, 'play "p" needs roles, a list'],
  [
    { hosts: 'all', roles: [], serial: 0 },
    'serial 0 is no number of hosts; without serial all change at once',
  ],
])("a mistake in a team's own play is named: %j", (options, words) => {
  expect(() => play('p', options as unknown as Parameters<typeof play>[1])).toThrow(words);
});
