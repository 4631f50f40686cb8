import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { readGateway } from './gateway.ts';
import { watchedHost } from './host.ts';

const rpc = (host: string, reason: string | null) => ({ host, serves: reason === null, reason });

async function seen(hosts?: readonly object[]) {
  const { vars } = await contextOf({ group: 'rpc' });
  const answer = `HTTP/1.1 200 OK\n\n${JSON.stringify({ judged: true, configuration: 'x', hosts })}`;
  return readGateway(fakeHost(hosts ? [[/probe/, answer]] : []), vars);
}

test('an RPC host that is out is reported with its reason, and is no fault of the gateway', async () => {
  const { findings, fleet } = await seen([
    rpc('rpc-1', null),
    rpc('rpc-2', '20 blocks behind the best, at 980'),
  ]);
  const says = 'rpc-2: does not serve: 20 blocks behind the best, at 980';
  expect(findings).toEqual([{ is: 'out', about: 'rpc-2', fault: false, says }]);
  expect(fleet?.hosts).toHaveLength(2);
});

test('of a gateway that is an RPC server, too, both are read', async () => {
  const gateway = [['groups', 'gateway'], { 'rpc-1': null }] as const;
  const own = [['vars', 'gateway'], { http: 80, websocket: 81 }] as const;
  const reached = { firewall: { connects_from: ['10.0.0.9'] } };
  const here = [
    ['groups', 'rpc', 'rpc-1'],
    { address: 'localhost', connection: 'local', vars: reached },
  ] as const;
  const context = await contextOf({ group: 'gateway', changes: [gateway, own, here] });
  const options = { limits: { staleAfter: 300, mostBehind: 20 }, timeout: 60, becomePassword: undefined };
  const host = await watchedHost(context, { ...options, interrupt: new AbortController().signal });
  const status = await host.look();
  await host.close();
  expect(status?.state?.disks.length).toBeGreaterThan(0);
  expect(status?.findings.map(({ is }) => is)).toContain('gateway-down');
});

test('a gateway by which nobody serves is unhealthy, and so is one without an answer', async () => {
  const { findings } = await seen([rpc('rpc-1', 'drained: restart')]);
  expect(findings.map(({ is, fault, says }) => [is, fault, says])).toEqual([
    ['nobody-serves', true, 'gateway: no RPC host may serve'],
    ['out', false, 'rpc-1: does not serve: drained: restart'],
  ]);
  expect((await seen()).findings).toEqual([
    {
      is: 'gateway-down',
      about: 'haproxy',
      fault: true,
      says: 'haproxy: HAProxy does not answer on port 9101: not found',
    },
  ]);
});
