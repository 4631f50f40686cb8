import { existsSync } from 'node:fs';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gatewayContext, ports, rpcPorts } from './fleet.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';

const names = ['rpc-1', 'rpc-2', 'rpc-3'];
const question = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] };

describe.skipIf(!existsSync('/usr/sbin/haproxy'))('heights', () => {
  let hosts: RpcHost[];
  let gateway: Gateway;
  const named = (name: string) => hosts.find((host) => host.name === name) as RpcHost;
  let asked = 0;
  /** HAProxy itself judges a call whose id is a number, and Lua any other. */
  const heightOf = async (agent: Agent) => {
    asked += 1;
    const id = asked % 2 === 0 ? asked : `text-${asked}`;
    const { status, text } = await get({ port: ports.http, body: { ...question, id }, agent });
    expect(status, text).toBe(200);
    const answer = JSON.parse(text);
    expect(answer.id).toBe(id);
    return Number(answer.result);
  };

  const contextOf = (most_behind: number) =>
    gatewayContext(Object.fromEntries(names.map((name, at) => [name, { address: `127.0.7.${at + 1}` }])), {
      most_behind,
    });
  /** The host of the client at 127.0.0.1. */
  const ownHost = async () => {
    const { text } = await get({ port: ports.http, body: { ...question, method: 'who' } });
    return JSON.parse(text).result.host as string;
  };
  const serves = async (name: string) =>
    (await gateway.fleet()).hosts.some(({ host, serves: does }) => host === name && does);

  beforeEach(async () => {
    hosts = names.map((name, at) => rpcHost(name, `127.0.7.${at + 1}`, rpcPorts));
    await Promise.all(hosts.map((host) => host.start()));
    gateway = await startGateway(await contextOf(5));
  });
  afterEach(async () => {
    await gateway?.kill();
    await Promise.all(hosts.map((host) => host.kill()));
  });

  test('many clients of one address see no lower height while hosts take turns, and none waits for long', async () => {
    let top = 1000;
    const growth = setInterval(() => {
      top += 1;
      for (const [at, host] of hosts.entries()) {
        const height = top;
        setTimeout(() => {
          host.height = Math.max(host.height, height);
        }, at * 120);
      }
    }, 500);
    let running = true;
    const lower: string[] = [];
    const times: number[] = [];
    const rest: number[] = [];
    let isTurn = false;
    const clients = Array.from({ length: 50 }, async (_, client) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      let highest = 0;
      while (running) {
        const started = performance.now();
        const height = await heightOf(agent);
        (isTurn ? times : rest).push(performance.now() - started);
        if (height < highest) lower.push(`${client}: ${highest}, then ${height}`);
        highest = Math.max(highest, height);
        await sleep(250);
      }
      agent.destroy();
    });
    const load = Promise.all(clients);
    // It is awaited below.
    load.catch(() => {});
    for (let round = 0; round < 8; round += 1) {
      const name = await ownHost();
      await sleep(1000);
      isTurn = true;
      await gateway.drain(name, 'its turn in a run');
      await sleep(2000);
      isTurn = false;
      await gateway.undrain(name);
      await until(
        async () => (await gateway.fleet()).hosts.every(({ serves }) => serves),
        `${name} is back`,
        30,
      );
    }
    clearInterval(growth);
    running = false;
    await load;
    const at = (list: number[], share: number) =>
      list.sort((one, other) => one - other)[Math.floor(list.length * share)] ?? 0;
    expect(lower).toEqual([]);
    // Milliseconds. A round of questions is each second: nobody waits for the next one.
    expect(at(times, 0.99)).toBeLessThan(at(rest, 0.99) + 250);
  });

  test('where two hosts answer a client at the same time, the lower height is not the later one', async () => {
    // Requests that are on their way while their host leaves go to different hosts: the client then
    // has one of them, and was shown the height of another.
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    const lower: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const had = await ownHost();
      for (const host of hosts) host.height = 1000 + 10 * round;
      await sleep(1200);
      await gateway.drain(had, 'test');
      await until(async () => !(await serves(had)), 'it is out');
      const others = names.filter((name) => name !== had);
      // Not asked yet by the gateway: both are at the height of before there.
      named(others[round % 2] ?? '').height += 2;
      let highest = 0;
      for (let wave = 0; wave < 3; wave += 1) {
        const heights = await Promise.all(Array.from({ length: 20 }, () => heightOf(agent)));
        const lowest = Math.min(...heights);
        if (wave > 0 && lowest < highest) lower.push(`round ${round}: ${highest}, then ${lowest}`);
        highest = Math.max(highest, ...heights);
      }
      named(others[(round + 1) % 2] ?? '').height += 2;
      await gateway.undrain(had);
      await until(async () => (await gateway.fleet()).hosts.every(({ serves }) => serves), 'all serve', 30);
    }
    agent.destroy();
    expect(lower).toEqual([]);
  });

  test('a request on a connection from before a reload shows no lower height, nor does the next one', async () => {
    const agents = Array.from({ length: 12 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const ask = async (client: number, agent?: Agent) => {
      const from = `127.0.8.${client + 1}`;
      const { text } = await get({ port: ports.http, body: question, from, ...(agent && { agent }) });
      return Number(JSON.parse(text).result);
    };
    await Promise.all(agents.map((agent, client) => ask(client, agent)));
    await gateway.reload(await contextOf(6));
    await sleep(2500);
    // Only one host has the newest block, and the gateway has not asked it yet.
    await until(async () => (await gateway.fleet()).hosts.every(({ serves: does }) => does), 'all serve', 30);
    named('rpc-2').height += 2;
    const before = await Promise.all(agents.map((agent, client) => ask(client, agent)));
    const after = await Promise.all(agents.map((_, client) => ask(client)));
    expect(before.every((height) => height >= 1000)).toBe(true);
    expect(after.filter((height, client) => height < (before[client] ?? 0))).toEqual([]);
    for (const agent of agents) agent.destroy();
  });

  test('a connection from before a reload shows no lower height after its host was out', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await heightOf(agent)).toBe(1000);
    await gateway.reload(await contextOf(6));
    await sleep(2500);
    const had = await ownHost();
    await gateway.drain(had, 'test');
    await until(async () => !(await serves(had)), 'it is out');
    for (const host of hosts) host.height += host.name === had ? 0 : 2;
    const other = new Agent({ keepAlive: true });
    await until(async () => (await heightOf(other)) === 1002, 'another connection shows a newer block');
    // Both processes judge for themselves, each second: a turn lasts longer than that.
    await sleep(2500);
    await gateway.undrain(had);
    await until(async () => serves(had), 'it is back', 30);
    expect(await heightOf(agent)).toBe(1002);
    agent.destroy();
    other.destroy();
  });

  const block = (which: string, id: unknown = 1) => ({
    ...question,
    id,
    method: 'eth_getBlockByNumber',
    params: [which, false],
  });
  const blockOf = async (body: unknown) => {
    const { text } = await get({ port: ports.http, body });
    return Number(JSON.parse(text).result.number);
  };

  test.each<[string, unknown]>([
    ['judged by HAProxy', block('pending')],
    ['judged by Lua', block('pending', 'a')],
    ['with escapes', JSON.stringify(block('pending')).replace('pending', 'p\\u0065nding')],
    ['with another block behind it', { ...block('pending'), params: ['pending', { params: ['latest'] }] }],
  ])('a pending block, which no host has, makes nobody wait: %s', async (_, body) => {
    expect(await blockOf(body)).toBe(1001);
    const agent = new Agent();
    const started = performance.now();
    for (let round = 0; round < 2; round += 1) expect(await heightOf(agent)).toBe(1000);
    expect(performance.now() - started).toBeLessThan(1000);
  });

  test.each<[string, unknown]>([
    ['latest', block('latest')],
    ['a number', block('0x3ea')],
    ['latest, judged by Lua', block('latest', 'a')],
    ['a number, judged by Lua', block('0x3ea', 'a')],
    // The node takes these, too.
    ['no name', block('')],
    ['no name, judged by Lua', block('', 'a')],
    ['a decimal number', block('1002')],
    ['a decimal number without quotes', { ...block(''), params: [1002, false] }],
    ['a decimal number without quotes, judged by Lua', { ...block('', 'a'), params: [1002, false] }],
  ])('a client does not go back behind a block that it was shown: %s', async (_, body) => {
    const own = named(await ownHost());
    own.height = 1002;
    expect(await blockOf(body)).toBe(1002);
    own.height = 1000;
    const grows = sleep(700).then(() => {
      own.height = 1002;
    });
    expect(await heightOf(new Agent())).toBe(1002);
    await grows;
  });

  test('where the chain itself has gone back, clients get its height after a time', async () => {
    const agent = new Agent({ keepAlive: true });
    expect(await heightOf(agent)).toBe(1000);
    for (const host of hosts) host.height = 990;
    const started = performance.now();
    await until(async () => (await heightOf(agent)) === 990, 'the client gets the height of the chain', 20);
    expect(performance.now() - started).toBeLessThan(8000);
    const again = performance.now();
    expect(await heightOf(agent)).toBe(990);
    expect(performance.now() - again).toBeLessThan(1000);
    agent.destroy();
  });
});
