import { expect, test } from 'vitest';
import restarted from '../../../roles/restarted.ts';
import { ok } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { contextOf, refusal } from '../testing/role-context.ts';

const resources = async (component: string, group: 'database' | 'rpc' = 'rpc') =>
  restarted.resources({ ...(await contextOf({ group })), given: { component } });

test('a component is restarted once in a run, and waited for', async () => {
  const [restart, listens] = await resources('json-rpc');
  let startedAt = '2026-01-01T00:00:00Z';
  const host = fakeHost([], { container: async () => ({ ...runningContainer, startedAt }) });
  expect(await restart?.check(host)).toMatchObject({
    differences: [{ what: 'started', was: startedAt, wanted: 'in this run' }],
    change: [{ command: 'docker restart --time 120 json-rpc' }],
  });
  startedAt = new Date(Date.now() + 1000).toISOString();
  expect(await restart?.check(host)).toEqual(ok);
  expect(restart?.changes?.([])).toEqual(['container json-rpc']);
  expect(listens?.name).toContain('json-rpc listens on');
});

test('a component that does not run is refused', async () => {
  expect(await refusal(await resources('prover'), 'prover is restarted', fakeHost([]))).toEqual([
    'prover does not run',
    'a deploy starts it',
  ]);
});

test('a host without the component has nothing to do, and a database is asked for connections', async () => {
  expect(await resources('sync', 'rpc')).toEqual([]);
  expect((await resources('state-db', 'database')).map(({ name }) => name)).toEqual([
    'state-db is restarted',
    'state-db accepts connections',
  ]);
});
