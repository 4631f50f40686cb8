import { expect, test } from 'vitest';
import type { HostStatus } from './host.ts';
import { withMovedTags } from './moved-tag.ts';

const host = (name: string, ids: Readonly<Record<string, string>>) =>
  ({
    host: name,
    findings: [],
    state: {
      containers: Object.fromEntries(
        Object.entries(ids).map(([service, imageId]) => [service, { image: `r/${service}:v1`, imageId }]),
      ),
    },
  }) as unknown as HostStatus;

test('a container with another image than the same name has on an earlier host is named', () => {
  const unreachable = { host: 'rpc-2', findings: [], state: undefined } as unknown as HostStatus;
  const all = [
    host('rpc-1', { prover: '1', 'json-rpc': '2' }),
    unreachable,
    host('rpc-3', { prover: '1', 'json-rpc': '3' }),
  ];
  const [first, second, third] = withMovedTags(all);
  expect([first, second]).toEqual(all.slice(0, 2));
  expect(third?.findings).toMatchObject([
    {
      is: 'moved-tag',
      fault: false,
      says: 'json-rpc: r/json-rpc:v1 is another image here than on rpc-1: its tag has moved, or one of them was rolled back; a digest in images.* prevents that',
    },
  ]);
});
