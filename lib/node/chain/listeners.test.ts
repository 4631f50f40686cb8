import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { expect, onTestFinished, test } from 'vitest';
import { drift, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { localHost } from '../testing/local-host.ts';
import { agreesToWebSocket, serverFrame } from '../testing/web-socket-server.ts';
import { executesCalls } from './installation-check.ts';
import { answersWebSocket, servesMetrics, servesNamespaces } from './listeners.ts';
import { newestBlockPair } from './newest-block.ts';

const once = { attempts: 1, pause_seconds: 0 };

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server of JSON-RPC that knows some methods. */
function rpcServer(answers: Readonly<Record<string, object>>): Promise<number> {
  return listen(
    createServer(async (request: IncomingMessage, response: ServerResponse) => {
      const { id, method } = JSON.parse((await request.toArray()).join('')) as { id: number; method: string };
      const answer = answers[method] ?? {
        error: { code: -32601, message: `the method ${method} does not exist` },
      };
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
    }),
  );
}

test('each namespace has to serve its methods; an error of a served method is an answer', async () => {
  const port = await rpcServer({
    eth_chainId: { result: '0x1' },
    debug_traceBlockByNumber: { error: { code: -32000, message: 'block #9223372036854775807 not found' } },
  });
  const url = `http://localhost:${port}`;
  expect(await servesNamespaces(url, ['eth', 'debug'], once).check(localHost())).toEqual(ok);
  expect(await servesNamespaces(url, ['eth', 'txpool', 'other'], once).check(localHost())).toEqual(
    drift(
      `txpool: ${url} answers an error: -32601 the method txpool_content does not exist; other: ${url} answers an error: -32601 the method other_version does not exist`,
    ),
  );
});

test('a node without its prover, which still answers blocks, does not pass', async () => {
  const executing = await rpcServer({ eth_call: { result: '0x' } });
  expect(await executesCalls(`http://localhost:${executing}`, once).check(localHost())).toEqual(ok);
  const port = await rpcServer({
    eth_blockNumber: { result: '0x10' },
    eth_call: { error: { code: -32000, message: 'failed to execute the unsigned transaction' } },
  });
  const url = `http://localhost:${port}`;
  expect(await executesCalls(url, once).check(localHost())).toEqual(
    drift(
      `eth_call, which the prover executes: ${url} answers an error: -32000 failed to execute the unsigned transaction`,
    ),
  );
});

test('a node that allows few requests in a second passes, though the checks ask at the same time', async () => {
  let [second, asked, limited] = [0, 0, 0];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { id } = JSON.parse((await request.toArray()).join('')) as { id: number };
    const result = { number: '0x10', hash: '0x1', timestamp: '0x10' };
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  const server = createServer((request, response) =>
    isTooMuch()
      ? response.writeHead(429).end('You have reached maximum request limit.')
      : answer(request, response),
  );
  server.on('upgrade', (request, socket: Duplex) => {
    if (isTooMuch()) return socket.on('error', () => {}).end('HTTP/1.1 429 Too Many Requests\r\n\r\n');
    if (!agreesToWebSocket(request, socket)) return;
    return socket.once('data', () =>
      socket.write(serverFrame(0x81, '{"jsonrpc":"2.0","id":1,"result":"0x10"}')),
    );
  });
  const isTooMuch = () => {
    const now = Math.floor(Date.now() / 1000);
    if (now !== second) [second, asked] = [now, 0];
    asked += 1;
    if (asked > 3) limited += 1;
    return asked > 3;
  };
  const port = await listen(server);
  const url = `http://localhost:${port}`;
  // A server elsewhere that limits its requests, too, is asked once only.
  const elsewhere = `http://localhost:${await listen(createServer(answer))}`;
  const host = localHost();
  const namespaces = ['eth', 'net', 'debug', 'zkevm', 'txpool', 'web3'];
  const verdicts = await Promise.all([
    servesNamespaces(url, namespaces, once).check(host),
    answersWebSocket(port, once).check(host),
    newestBlockPair(host, { url }, elsewhere),
  ]);
  const pair = {
    here: { block: 16, hash: '0x1', made: 16 },
    there: { ok: true, value: { block: 16, hash: '0x1', made: 16 } },
  };
  expect(verdicts).toEqual([ok, ok, { ok: true, value: pair }]);
  expect(limited).toBeGreaterThan(0);
});

test('metrics have to be in the format of Prometheus', async () => {
  const page = (body: string, status = 200) =>
    listen(createServer((_, response) => response.writeHead(status).end(body)));
  const check = (port: number) => servesMetrics('sync', port, once).check(localHost());
  expect(
    await check(await page('# TYPE jsonrpc_request_handled counter\njsonrpc_request_handled 1\n')),
  ).toEqual(ok);
  const html = await page('<html>');
  expect(await check(html)).toEqual(drift(`http://localhost:${html}/metrics answers no metrics`));
  const missing = await page('', 404);
  expect(await check(missing)).toEqual(drift(`http://localhost:${missing}/metrics answers HTTP 404`));
  expect(await check(1)).toMatchObject({
    is: 'drift',
    note: expect.stringMatching(/:1\/metrics does not answer: ./),
  });
});

test('nothing is judged before the container runs, and the log to read is named', async () => {
  const host = fakeHost([]);
  expect(await servesMetrics('sync', 1, once).check(host)).toEqual(unknownUntil('sync is running'));
  const silent = fakeHost([], { container: async () => runningContainer });
  await expect(applyDrift(silent, servesMetrics('sync', 9091, once))).rejects.toMatchObject({
    message: expect.stringMatching(
      /^http:\/\/localhost:9091\/metrics does not answer: not found \(asked 1 time in \d s\)$/,
    ),
    hint: 'see docker logs sync',
  });
});
