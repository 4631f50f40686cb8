import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import gatewayAddress from '../../../roles/gateway-address.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf, refusal } from '../testing/role-context.ts';

const settings = '/etc/keepalived/keepalived.conf';

async function resources(shared: object | undefined) {
  const gateways = { 'gw-1': { address: '10.0.0.1' }, 'gw-2': { address: '10.0.0.2' } };
  const context = await contextOf({
    group: 'gateway',
    changes: [
      [['groups', 'gateway'], gateways],
      [['vars', 'gateway'], { shared }],
    ],
  });
  return gatewayAddress.resources(context);
}

test('a configuration of keepalived that somebody else made stays', async () => {
  const host = fakeHost([], { read: async () => Buffer.from('vrrp_instance mine {}\n') });
  const name = `${settings} is not somebody else's`;
  const all = await resources({ address: '10.0.0.9/24', interface: 'eth0' });
  expect(await refusal(all, name, host)).toEqual([
    `${name}: it was not written by this tool`,
    `remove gateway.shared from the inventory, or move the file: mv ${settings} ${settings}.old`,
  ]);
  expect(await all[0]?.check(fakeHost([], { read: async () => undefined }))).toEqual({ is: 'ok' });
});

test('without a shared address there is no keepalived', async () => {
  expect(await resources(undefined)).toEqual([]);
});

/** As templates/gateway/fleet.lua writes it, of two RPC hosts, one of which is for heavy methods. */
const fleet = (judged: boolean, usual: boolean, heavy: boolean) =>
  `{"judged":${judged},"configuration":"0f","refused_messages":0,"hosts":[{"host":"rpc-1","heavy":false,"serves":${usual},"fit":${usual},"reason":null,"drained":null,"height":1000,"hash":"0x1","sessions":0},{"host":"rpc-2","heavy":true,"serves":${heavy},"fit":${heavy},"reason":null,"drained":null,"height":1000,"hash":"0x1","sessions":0}]}\n`;
const [serving, nobody, starting] = [
  fleet(true, true, true),
  fleet(true, false, true),
  fleet(false, false, false),
];

/** A gateway's port of metrics; nobody listens on one without an answer. */
async function gatewayWith(answer: string | undefined): Promise<string> {
  const server = createServer((_, response) => void response.end(answer));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => new Promise((resolve) => server.close(resolve));
  if (answer === undefined) await close();
  else onTestFinished(() => void close());
  return `127.0.0.1:${port}`;
}

describe('a gateway may have the shared address', () => {
  test.each<[what: string, own: string | undefined, other: string | undefined, runs: boolean, may: boolean]>([
    ['while an RPC host serves its clients', serving, serving, true, true],
    ['while nobody serves, there and elsewhere', nobody, nobody, true, true],
    ['while nobody serves there, and the other gateway is away', nobody, undefined, true, true],
    ['while it has judged nobody yet', starting, serving, true, true],
    ['not while nobody serves there, and one serves elsewhere', nobody, serving, true, false],
    ['not while it does not answer, and one serves elsewhere', undefined, serving, true, false],
    ['not while HAProxy does not run', undefined, undefined, false, false],
  ])('%s', async (_, own, other, runs, may) => {
    const folder = temporaryDirectory();
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin/systemctl'), `#!/bin/sh\nexit ${runs ? 0 : 3}\n`, { mode: 0o755 });
    const script = join(import.meta.dirname, '../../../templates/host/may-have-address.sh');
    const env = { PATH: join(folder, 'bin') + delimiter + process.env.PATH };
    const words = [script, await gatewayWith(own), await gatewayWith(other)];
    const code = await new Promise((resolve) =>
      execFile('sh', words, { env }, (error) => resolve(error ? error.code : 0)),
    );
    expect(code).toBe(may ? 0 : 1);
  });
});
