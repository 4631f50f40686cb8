import { expect, test } from 'vitest';
import { cpuSeconds } from '../testing/cpu-seconds.ts';
import type { InventoryHost } from './inventory.ts';
import { selectHosts } from './pattern.ts';
import { thisMachine } from './testing/this-machine.ts';

const host = (name: string, group: string): InventoryHost<null> => ({
  name,
  groups: [group],
  connection: thisMachine,
  vars: null,
});
const hosts = [
  host('db-1', 'database'),
  host('rpc-1', 'rpc'),
  host('rpc-2', 'rpc'),
  host('rpc-3', 'rpc'),
  host('a.b', 'rpc'),
];

test.each([
  ['all', 'db-1 rpc-1 rpc-2 rpc-3 a.b'],
  ['*', 'db-1 rpc-1 rpc-2 rpc-3 a.b'],
  ['rpc-2,db-1', 'db-1 rpc-2'],
  [' rpc-2 , rpc-2,', 'rpc-2'],
  ['rpc', 'rpc-1 rpc-2 rpc-3 a.b'],
  ['rpc-?', 'rpc-1 rpc-2 rpc-3'],
  ['*-1', 'db-1 rpc-1'],
  ['rpc-[12]', 'rpc-1 rpc-2'],
  ['rpc-[!12]', 'rpc-3'],
  ['data*', 'db-1'],
  ['!rpc', 'db-1'],
  ['rpc,!rpc-2', 'rpc-1 rpc-3 a.b'],
  ['!rpc-2,rpc', 'rpc-1 rpc-3 a.b'],
  ['all,&*-1', 'db-1 rpc-1'],
  ['&rpc,!a.b', 'rpc-1 rpc-2 rpc-3'],
  ['rpc[0]', 'rpc-1'],
  ['rpc[-1]', 'a.b'],
  ['rpc[1:2]', 'rpc-2 rpc-3'],
  ['rpc[1:]', 'rpc-2 rpc-3 a.b'],
  ['rpc,!rpc[0:1]', 'rpc-3 a.b'],
  ['a.b', 'a.b'],
])('%s', (pattern, expected) => {
  expect(
    selectHosts({ hosts }, pattern)
      .map(({ name }) => name)
      .join(' '),
  ).toBe(expected);
});

test.each([
  ['rcp-1', 'no host or group is called "rcp-1"', 'did you mean rpc-1?'],
  ['!databse', 'no host or group is called "databse"', 'did you mean database?'],
  ['a-b', 'no host or group is called "a-b"', undefined],
  ['rpc:!rpc-1', 'no host or group is called "rpc:!rpc-1"', 'terms are separated by commas: rpc,!rpc-1'],
  [
    '~rpc-.*',
    '"~rpc-.*": regular expressions are not supported',
    'name hosts and groups, or use globs: rpc-1,rpc-2 or rpc-*',
  ],
  [
    '@retry',
    '"@retry": a list of hosts in a file is not supported',
    'name hosts and groups, or use globs: rpc-1,rpc-2 or rpc-*',
  ],
  ['', 'the host pattern is empty', undefined],
  [',', 'the host pattern is empty', undefined],
  ['rpc,!rpc', 'no host is left by the pattern "rpc,!rpc"', undefined],
  ['rpc-[79]', 'no host or group is called "rpc-[79]"', undefined],
  ['rpc[7]', '"rpc[7]" selects nothing: rpc has 4 hosts, counted from 0', undefined],
  ['x[z-a]', '"x[z-a]" is not a host pattern', undefined],
])('%s is refused', (pattern, message, hint) => {
  expect(() => selectHosts({ hosts }, pattern)).toThrow(
    expect.objectContaining({ message, code: 3, ...(hint && { hint }) }),
  );
});

test('many asterisks match like one', async () => {
  const selects = () =>
    expect(() => selectHosts({ hosts }, `${'*'.repeat(60)}x`)).toThrow('no host or group is called');
  expect(await cpuSeconds(selects)).toBeLessThan(1);
});
