import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import type { RenderContext } from '../../lib/node/render/render-context.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';
import { bytesOf, newMask, opcodes, openWebSocket, type WebSocketClient } from './web-socket.ts';

const rpcPorts = { http: 28123, websocket: 28133 };
const ports = { http: 28200, websocket: 28201, metrics: 28202, peers: 28203 };

async function contextOf(clients: object): Promise<RenderContext> {
  const inventory = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], '127.0.7.100'],
    [['groups', 'rpc'], { 'rpc-1': { address: '127.0.7.1' } }],
    [['groups', 'gateway'], { 'gw-1': { address: '127.0.7.101' } }],
    [['vars', 'ports'], { rpc_http: rpcPorts.http, rpc_websocket: rpcPorts.websocket }],
    [['vars', 'gateway'], { ...ports, clients }],
  ]);
  const { hosts } = await loadDeployment(inventory);
  const host = hosts.find(({ name }) => name === 'gw-1');
  if (!host) throw new Error('no gateway');
  return { host, vars: host.vars, hosts };
}

const call = (method: string, id: unknown = 1, params: unknown[] = []) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

async function open(from = '127.0.8.1'): Promise<WebSocketClient> {
  const client = await openWebSocket(ports.websocket, { from });
  onTestFinished(() => void client.socket.destroy());
  expect(client.status).toBe(101);
  return client;
}

/** The next message, without the pings of the node in between; undefined after the end. */
async function answer(client: WebSocketClient): Promise<unknown> {
  let text = '';
  for (;;) {
    const frame = await client.next();
    if (!frame) return undefined;
    if (frame.opcode > opcodes.binary) continue;
    text += frame.content;
    if (frame.isLast) return JSON.parse(text);
  }
}

const tooMany = (most: number, id: unknown) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32005, message: `more than ${most} requests in a second` },
});
const result = (id: unknown) => ({ jsonrpc: '2.0', id, result: expect.objectContaining({ host: 'rpc-1' }) });

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('messages of WebSockets', () => {
  let host: RpcHost;
  let gateway: Gateway;
  const start = async (clients: object) => {
    gateway = await startGateway(await contextOf(clients));
  };

  beforeEach(async () => {
    host = rpcHost('rpc-1', '127.0.7.1', rpcPorts);
    await host.start();
  });
  afterEach(async () => {
    await gateway?.kill();
    await host.kill();
  });

  test('they pass as they came: short, long, in parts, byte by byte, with others between', async () => {
    await start({});
    const client = await open();
    const long = call('who', 2, ['x'.repeat(200_000)]);
    const sent = [
      call('who'),
      call('who', 3, ['y'.repeat(300)]),
      long,
      ` [${call('who', 4)} ,\n${call('who', 5)}]`,
    ];
    for (const text of sent) {
      client.say(text);
      expect(await answer(client)).toMatchObject(
        text === sent[3] ? [result(4), result(5)] : result(JSON.parse(text).id),
      );
    }
    const text = call('who', 'é');
    const [mask, bytes] = [newMask(), Buffer.from(text)];
    client.send(bytesOf(opcodes.binary, bytes.subarray(0, 7), { isLast: false, mask }));
    client.send(bytesOf(opcodes.ping, 'between', { mask: newMask() }));
    client.send(bytesOf(opcodes.continuation, '', { isLast: false, mask: newMask() }));
    const last = bytesOf(opcodes.continuation, bytes.subarray(7), { mask: newMask() });
    for (let at = 0; at < last.length; at += 1) {
      client.send(last.subarray(at, at + 1));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await client.next()).toMatchObject({ opcode: opcodes.pong, content: Buffer.from('between') });
    expect(await answer(client)).toMatchObject(result('é'));
    expect(host.messages).toEqual([...sent, text]);
    client.send(bytesOf(opcodes.close, Buffer.from([3, 232]), { mask: newMask() }));
    for (;;) {
      const frame = await client.next();
      expect(frame).toBeDefined();
      if (frame?.opcode === opcodes.close) break;
    }
  });

  test('a message that comes with the handshake is judged, too', async () => {
    await start({ batch: 1 });
    const sent = bytesOf(opcodes.text, `[${call('who')},${call('who')}]`, { mask: newMask() });
    const client = await openWebSocket(ports.websocket, { sent });
    onTestFinished(() => void client.socket.destroy());
    expect(await answer(client)).toMatchObject({ error: { message: 'a batch of more than 1 requests' } });
    expect(host.messages).toEqual([]);
  });

  test('each call counts, as those by HTTP do', async () => {
    await start({ requests: 10 });
    const client = await open();
    for (let id = 0; id < 30; id += 1) client.say(call('who', id));
    const answers: unknown[] = [];
    while (answers.length < 30) answers.push(await answer(client));
    const isRefused = (each: unknown) => JSON.stringify(each).includes('"error"');
    const [refused, passed] = [answers.filter(isRefused), answers.filter((each) => !isRefused(each))];
    // The handshake is a request, too.
    expect(passed.slice(0, 9)).toMatchObject(Array.from({ length: 9 }, (_, id) => result(id)));
    expect(refused.length).toBeGreaterThan(5);
    expect(refused[0]).toEqual(tooMany(10, expect.any(Number)));
    expect(host.messages.length).toBe(30 - refused.length);
    const other = await open('127.0.8.2');
    other.say(call('who'));
    expect(await answer(other)).toMatchObject(result(1));
    const batch = `[${Array.from({ length: 11 }, (_, id) => call('who', id)).join(',')}]`;
    await until(async () => {
      other.say(batch);
      expect(await answer(other)).toEqual(tooMany(10, null));
      return (await get({ port: ports.http, body: call('who'), from: '127.0.8.2' })).status === 429;
    }, 'HTTP is limited by the messages');
    expect((await gateway.fleet()).refused_messages).toBeGreaterThan(refused.length);
  });

  test('what is no JSON-RPC is refused, and the WebSocket goes on', async () => {
    await start({});
    const client = await open();
    for (const text of ['', 'x', '{"method":1}', `${call('who')} x`]) {
      client.say(text);
      expect(await answer(client)).toMatchObject({ error: { code: -32700 } });
    }
    client.say(call('who'));
    expect(await answer(client)).toMatchObject(result(1));
    expect(host.messages).toEqual([call('who')]);
  });

  test.each(['x', `[${call('who', 1)},${call('who', 2)},${call('who', 3)}]`])(
    'what is refused counts as a request: %s',
    async (text) => {
      await start({ requests: 5, batch: 2 });
      const client = await open();
      for (let round = 0; round < 20; round += 1) client.say(text);
      let last: unknown;
      for (let round = 0; round < 20; round += 1) last = await answer(client);
      expect(last).toEqual(tooMany(5, null));
      client.say(call('who', 7));
      expect(await answer(client)).toEqual(tooMany(5, 7));
    },
  );

  test('a long message of a client that is over its limit is not read', async () => {
    await start({ requests: 3 });
    const client = await open();
    for (const length of [10, 200_000])
      await until(async () => {
        client.say(call('who', 7, ['x'.repeat(length)]));
        const refused = (await answer(client)) as { error?: object };
        expect([tooMany(3, null), tooMany(3, 7), result(7)]).toContainEqual(refused);
        return JSON.stringify(refused) === JSON.stringify(tooMany(3, length > 5000 ? null : 7));
      }, 'it is refused');
  });

  test('the node gets few pings for many refused messages, and each of them is answered', async () => {
    await start({});
    const client = await open();
    for (let round = 0; round < 500; round += 1) client.say('x');
    for (let round = 0; round < 500; round += 1)
      expect(await answer(client)).toMatchObject({ error: { code: -32700 } });
    expect(host.pings).toBeLessThan(100);
    // Refused alone, with another ping on its way that the node answers in place of both.
    host.ignoresPings = true;
    const before = host.pings;
    client.say('x');
    await until(async () => host.pings > before, 'the node has a ping');
    host.ignoresPings = false;
    client.send(bytesOf(opcodes.ping, 'own', { mask: newMask() }));
    expect(await answer(client)).toMatchObject({ error: { code: -32700 } });
    client.say('x');
    expect(await answer(client)).toMatchObject({ error: { code: -32700 } });
  });

  test('a WebSocket ends where more than 1000 refusals wait for a node that does not answer', async () => {
    await start({});
    const client = await open();
    host.ignoresPings = true;
    for (let round = 0; round < 1001; round += 1) client.say('x');
    expect(await answer(client)).toBeUndefined();
  });

  test('more than 20 pings in a second end the WebSocket, and a few do not', async () => {
    await start({});
    const client = await open();
    const ping = () => client.send(bytesOf(opcodes.ping, 'own', { mask: newMask() }));
    for (let second = 0; second < 2; second += 1) {
      for (let round = 0; round < 10; round += 1) ping();
      for (let round = 0; round < 10; round += 1)
        expect(await client.next()).toMatchObject({ opcode: opcodes.pong });
      await sleep(1100);
    }
    for (let round = 0; round < 200; round += 1) ping();
    expect(await answer(client)).toBeUndefined();
    expect(host.pings).toBeLessThan(100);
  });

  test.each<[string, Buffer]>([
    ['a frame without a mask', bytesOf(opcodes.text, call('who'))],
    [
      'a compressed frame',
      Buffer.concat([Buffer.from([0xc1]), bytesOf(1, '{}', { mask: newMask() }).subarray(1)]),
    ],
    [
      'a message that is too long',
      bytesOf(opcodes.text, call('who', 1, ['x'.repeat(220_000)]), { mask: newMask() }),
    ],
    ['a continuation of nothing', bytesOf(opcodes.continuation, call('who'), { mask: newMask() })],
    ['a frame of an unknown kind', bytesOf(3, call('who'), { mask: newMask() })],
  ])('%s ends the WebSocket', async (_, bytes) => {
    await start({});
    const client = await open();
    client.send(bytes);
    expect(await answer(client)).toBeUndefined();
    expect(host.messages).toEqual([]);
  });

  test('640 WebSockets that open 16 at a time are all judged', async () => {
    await start({ requests: 3 });
    const clients: WebSocketClient[] = [];
    for (let burst = 0; burst < 40; burst += 1) {
      const opened = await Promise.all(
        Array.from({ length: 16 }, (_, at) =>
          openWebSocket(ports.websocket, { from: `127.0.9.${((burst * 16 + at) % 250) + 1}` }),
        ),
      );
      clients.push(...opened);
    }
    onTestFinished(() => {
      for (const { socket } of clients) socket.destroy();
    });
    expect(clients.map(({ status }) => status)).toEqual(clients.map(() => 101));
    const batch = `[${Array.from({ length: 4 }, (_, id) => call('who', id)).join(',')}]`;
    for (const client of clients) client.say(batch);
    const answers = await Promise.all(clients.map(answer));
    expect(answers).toEqual(clients.map(() => tooMany(3, null)));
    expect(host.messages).toEqual([]);
  });
});
