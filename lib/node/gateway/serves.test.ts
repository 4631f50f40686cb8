import { expect, onTestFinished, test, vi } from 'vitest';
import drained from '../../../roles/drained.ts';
import { ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { contextOf } from '../testing/role-context.ts';

const resources = async (given: Record<string, string>) =>
  drained.resources({
    ...(await contextOf({
      group: 'gateway',
      changes: [[['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' } }]],
    })),
    given,
  });

const gateway = (hosts: readonly object[], mark?: string) =>
  fakeHost([[/probe/, `HTTP/1.1 200 OK\n\n${JSON.stringify({ configuration: 'c', hosts })}`]], {
    read: async () => (mark === undefined ? undefined : Buffer.from(`${mark}\n`)),
  });

test('a host is drained by the operator until it is let in', async () => {
  const [drain, ...others] = await resources({ host: 'rpc-1', reason: 'new disk' });
  expect([drain?.name, others]).toEqual(['rpc-1 is drained', []]);
  const out = { host: 'rpc-1', serves: false, fit: true, reason: 'drained: new disk', sessions: 0 };
  expect(await drain?.check(gateway([out], 'new disk'))).toEqual(ok);
  const [letIn, serves] = await resources({ host: 'rpc-1', undo: '' });
  expect([letIn?.name, serves?.name]).toEqual(['rpc-1 is not drained', 'rpc-1 serves']);
  expect(await letIn?.check(gateway([out], 'new disk'))).toMatchObject({ is: 'drift' });
  // In check mode it is still drained.
  expect(await serves?.check(gateway([{ ...out, drained: 'new disk' }]))).toEqual(
    unknownUntil('rpc-1 is not drained'),
  );
  expect(await serves?.check(gateway([out]))).toMatchObject({ note: 'drained: new disk' });
  expect(await serves?.check(gateway([{ ...out, serves: true, reason: null }]))).toEqual(ok);
  expect(await serves?.check(gateway([]))).toMatchObject({ note: 'the gateway does not know it' });
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  const sleep = async (seconds: number) => {
    now += seconds * 1000;
  };
  const waiting = { ...gateway([out]), sleep };
  await expect(applyDrift(waiting, serves as Resource)).rejects.toMatchObject({
    message: 'rpc-1 serves: not within 30 s: drained: new disk',
    hint: 'see status: rpc-1 is not well, or a deploy has to bring it into the gateways',
  });
});
