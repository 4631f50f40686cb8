import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { gatewayContext, ports, rpcPorts } from './fleet.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';
import { openWebSocket } from './web-socket.ts';

const call = (method: string, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params: [] });

async function ask(body: unknown, from = '127.0.8.1') {
  const { status, text } = await get({ port: ports.http, body, from });
  return { status, ...JSON.parse(text) };
}

/** The answer to a message of a new WebSocket. */
async function say(body: unknown): Promise<string> {
  const client = await openWebSocket(ports.websocket, { from: '127.0.8.1' });
  onTestFinished(() => void client.socket.destroy());
  client.say(JSON.stringify(body));
  let text = '';
  for (let frame = await client.next(); frame; frame = await client.next()) {
    if (frame.opcode < 8) text += frame.content;
    if (frame.opcode < 8 && frame.isLast) break;
  }
  return text;
}

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('methods', () => {
  let hosts: RpcHost[];
  let gateway: Gateway;
  const start = async (methods: object, rpc: Readonly<Record<string, object>> = {}) => {
    const all = { 'rpc-1': { address: '127.0.7.1' }, 'rpc-2': { address: '127.0.7.2' }, ...rpc };
    gateway = await startGateway(await gatewayContext(all, { methods }));
  };

  beforeEach(async () => {
    hosts = [1, 2, 3].map((at) => rpcHost(`rpc-${at}`, `127.0.7.${at}`, rpcPorts));
    await Promise.all(hosts.map((host) => host.start()));
  });
  afterEach(async () => {
    await gateway?.kill();
    await Promise.all(hosts.map((host) => host.kill()));
  });

  test('those that are not offered are refused, alone, in a batch and by WebSocket', async () => {
    await start({ allow: ['eth_*', 'debug_traceBlock'], deny: ['eth_getLogs', 'DEBUG_*'] });
    const refused = (method: string, id: unknown = 1) => ({
      jsonrpc: '2.0',
      id,
      error: { code: -32601, message: `the method ${method} is not offered` },
    });
    expect(await ask(call('eth_call'))).toMatchObject({ status: 200, result: {} });
    for (const method of ['eth_getLogs', 'ETH_GETLOGS', 'debug_traceBlock', 'net_version', 'xeth_call'])
      expect(await ask(call(method))).toEqual({ status: 403, ...refused(method) });
    expect(await ask('{"id":1,"m\\u0065thod":"eth_get\\u004cogs"}')).toMatchObject({ status: 403 });
    // HAProxy itself finds the method, wherever it is.
    const inOrders = (method: string, other: string) => [
      `{"method":"${method}","params":["${other}"],"id":1,"jsonrpc":"2.0"}`,
      `{"params":[{"methods":"${other}"}],"jsonrpc":"2.0","id":1,"method":"${method}"}`,
    ];
    for (const body of inOrders('eth_getLogs', 'eth_call'))
      expect(await ask(body)).toEqual({ status: 403, ...refused('eth_getLogs') });
    for (const body of inOrders('eth_call', 'eth_getLogs'))
      expect(await ask(body)).toMatchObject({ status: 200 });
    expect(await ask([call('eth_call'), call('eth_getLogs')])).toEqual({
      status: 403,
      ...refused('eth_getLogs', null),
    });
    expect(await ask({ id: 1 })).toMatchObject({
      status: 403,
      error: { message: 'the method of this name is not offered' },
    });
    expect(JSON.parse(await say(call('eth_getLogs', 5)))).toEqual(refused('eth_getLogs', 5));
    expect(await say(call('eth_call'))).toContain('"result"');
    expect(hosts.flatMap(({ messages }) => messages)).toEqual([JSON.stringify(call('eth_call'))]);
    expect(await gateway.metrics()).toMatch(/responses_total\{proxy="refused_method",code="4xx"\} 10\n/);
  });

  test('a monitor may ask for the newest block, whatever is offered', async () => {
    const rpc = { 'rpc-1': { address: '127.0.7.1' } };
    const own = { methods: { allow: ['net_*'] } };
    gateway = await startGateway(
      await gatewayContext(rpc, own, [[['groups', 'monitor'], { 'mon-1': { address: '127.0.7.150' } }]]),
    );
    expect(await ask(call('eth_blockNumber'), '127.0.7.150')).toMatchObject({ status: 200 });
    expect(await ask(call('eth_blockNumber'))).toMatchObject({ status: 403 });
    for (const other of [call('eth_call'), [call('eth_blockNumber')]])
      expect(await ask(other, '127.0.7.150')).toMatchObject({ status: 403 });
  });

  test('a WebSocket does not wait for the turn of a host for heavy methods', async () => {
    await start({ heavy: ['debug_*'] }, { 'rpc-3': { address: '127.0.7.3', vars: { methods: 'heavy' } } });
    await gateway.drain('rpc-3', 'its turn in a run');
    const heavy = async () => (await gateway.fleet()).hosts.find((each) => each.heavy);
    await until(async () => (await heavy())?.serves === false, 'rpc-3 is out', 60);
    const order: string[] = [];
    const opened = openWebSocket(ports.websocket, { from: '127.0.8.1' }).then(({ socket }) => {
      socket.destroy();
      order.push('opened');
    });
    // Those that wait for the end of a turn do so for 30 s.
    await Promise.race([opened, sleep(15_000, undefined, { ref: false })]);
    order.push('turn');
    await gateway.undrain('rpc-3');
    await opened;
    expect(order).toEqual(['opened', 'turn']);
  });

  test('after the chain went back, only the first heavy request of a client waits for its former height', async () => {
    await start({ heavy: ['debug_*'] }, { 'rpc-3': { address: '127.0.7.3', vars: { methods: 'heavy' } } });
    const [first, other] = ['127.0.8.1', '127.0.8.2'] as const;
    for (const from of [first, other])
      expect((await ask(call('eth_blockNumber'), from)).result).toBe('0x3e8');
    for (const host of hosts) host.height -= 20;
    const areBack = async () => (await gateway.fleet()).hosts.every(({ height }) => height === 980);
    await until(areBack, 'all have gone back', 60);
    const answered: string[] = [];
    const heavy = async (from: string) => {
      expect((await ask(call('debug_x'), from)).result).toMatchObject({ host: 'rpc-3' });
      answered.push(from);
    };
    await heavy(first);
    const waiting = heavy(other);
    await sleep(1000);
    await Promise.all([waiting, heavy(first)]);
    expect(answered).toEqual([first, first, other]);
  });

  test('some have limits of their own, which count each call', async () => {
    await start({ limits: { eth_getLogs: 3, 'debug_*': 5 } });
    const batch = (method: string, length: number) => Array.from({ length }, (_, id) => call(method, id));
    expect(await ask(batch('eth_getLogs', 4))).toMatchObject({
      status: 429,
      error: { code: -32005, message: 'more than 3 requests of eth_getLogs in a second' },
    });
    const two = [...batch('debug_a', 3), ...batch('debug_b', 3)];
    expect(await ask(two, '127.0.8.2')).toMatchObject({
      error: { message: 'more than 5 requests of debug_* in a second' },
    });
    expect(await say(batch('eth_getLogs', 4))).toContain('more than 3 requests of eth_getLogs in a second');
    expect((await ask(batch('eth_getLogs', 3), '127.0.8.3')).status).toBe(200);
    expect((await ask(batch('eth_call', 20), '127.0.8.1')).status).toBe(200);
  });

  test('heavy ones go to their hosts, which get nothing else, and a client keeps its host', async () => {
    await start(
      { heavy: ['debug_*', 'eth_getLogs'] },
      { 'rpc-3': { address: '127.0.7.3', vars: { methods: 'heavy' } } },
    );
    const clients = Array.from({ length: 12 }, (_, at) => `127.0.8.${at + 1}`);
    const hostsOf = (method: string) =>
      Promise.all(clients.map(async (from) => (await ask(call(method), from)).result.host));
    const usual = await hostsOf('eth_call');
    expect([...new Set(usual)].sort()).toEqual(['rpc-1', 'rpc-2']);
    expect(new Set(await hostsOf('debug_traceBlock'))).toEqual(new Set(['rpc-3']));
    expect(await hostsOf('eth_call')).toEqual(usual);
    // All of a batch goes where its heaviest call goes.
    const { text } = await get({ port: ports.http, body: [call('eth_call'), call('eth_getLogs')] });
    expect(JSON.parse(text).map(({ result }: { result: { host: string } }) => result.host)).toEqual([
      'rpc-3',
      'rpc-3',
    ]);
    expect(await say(call('debug_traceBlock', 9))).toBe(
      '{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"this method is offered by HTTP alone"}}',
    );
    await hosts[2]?.kill();
    await until(async () => (await gateway.fleet()).hosts.some(({ serves }) => !serves), 'rpc-3 is out', 60);
    expect(await ask(call('eth_getLogs'))).toMatchObject({ status: 503 });
    expect(await hostsOf('eth_call')).toEqual(usual);
  });

  test('while hosts end, those for heavy methods and the usual ones do not answer in place of each other', async () => {
    await start({ heavy: ['debug_*'] }, { 'rpc-3': { address: '127.0.7.3', vars: { methods: 'heavy' } } });
    const isIn = async (name: string) =>
      (await gateway.fleet()).hosts.some(({ host, serves }) => host === name && serves);
    const during = async (method: string, ending: readonly RpcHost[]) => {
      await Promise.all(ending.map((host) => host.kill()));
      const answers: ReturnType<typeof ask>[] = [];
      const areOut = async () => {
        answers.push(ask(call(method)), ask(call(method)));
        return (await Promise.all(ending.map(({ name }) => isIn(name)))).every((is) => !is);
      };
      await until(areOut, 'they are out', 60);
      return Promise.all(answers);
    };
    for (const [method, ending] of [
      ['debug_x', hosts.slice(2)],
      ['eth_call', hosts.slice(0, 2)],
    ] as const) {
      const answers = await during(method, ending);
      expect(answers.length).toBeGreaterThan(3);
      expect(answers.filter(({ result }) => result)).toEqual([]);
      await Promise.all(ending.map((host) => host.start()));
      const areBack = async () => (await Promise.all(hosts.map(({ name }) => isIn(name)))).every((is) => is);
      await until(areBack, 'all serve', 60);
    }
  });

  test('requests that are being sent to a host as it is cut off are answered', async () => {
    await start({ heavy: ['debug_*'] }, { 'rpc-3': { address: '127.0.7.3', vars: { methods: 'heavy' } } });
    const place = { host: '127.0.7.3', port: rpcPorts.http };
    await hosts[2]?.kill();
    // When two connections wait, the kernel drops the packets of a third one.
    const script = `net.createServer().listen(${JSON.stringify({ ...place, backlog: 1 })}, () => process.kill(process.pid, 'SIGSTOP'))`;
    const stopped = spawn(process.execPath, ['-e', script]);
    onTestFinished(async () => {
      stopped.kill('SIGKILL');
      await once(stopped, 'exit');
    });
    const waits = async () => {
      const socket = connect(place);
      onTestFinished(() => void socket.destroy());
      await once(socket, 'connect');
    };
    for (const which of ['first', 'second']) await until(async () => waits().then(() => true), which);
    const answers: Promise<number>[] = [];
    const isOut = async () => {
      answers.push(ask(call('debug_x')).then(({ status }) => status));
      return (await gateway.fleet()).hosts.some(({ heavy, serves }) => heavy && !serves);
    };
    await until(isOut, 'rpc-3 is out', 60);
    expect([...new Set(await Promise.all(answers))]).toEqual([503]);
  });

  test('the program on the gateway cuts what a drained host for heavy methods still has', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'gateway-program-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const socket = join(folder, 'admin.sock');
    const all = {
      'rpc-1': { address: '127.0.7.1' },
      'rpc-3': { address: '127.0.7.3', vars: { methods: 'heavy' } },
    };
    gateway = await startGateway(await gatewayContext(all, { methods: { heavy: ['debug_*'] } }), (text) =>
      text.replace('global\n', `global\n    stats socket ${socket} level admin\n`),
    );
    const program = join(folder, 'gateway');
    const text = await readFile('templates/host/gateway.sh', 'utf8');
    await writeFile(program, text.replace('/run/haproxy/admin.sock', socket));
    Object.assign(hosts[2] ?? {}, { slowMethod: 'debug_x', delay: 60_000 });
    const waiting = ask(call('debug_x'));
    await until(async () => hosts[2]?.answered === 1, 'rpc-3 has it');
    const cut = (name: string) => promisify(execFile)('sh', [program, 'cut', name]);
    expect((await cut('rpc-1')).stdout.trim()).toBe('');
    expect((await cut('rpc-3')).stdout.trim()).toBe('');
    expect((await waiting).status).toBe(502);
  });
});
