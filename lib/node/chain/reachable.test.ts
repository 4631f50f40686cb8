import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Reader } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { standInFor } from '../../engine/host/testing/local-connection.ts';
import { describeVerdict, drift, ok } from '../../engine/resource/resource.ts';
import { startPrivateRegistry } from '../testing/private-registry.ts';
import { askChainId, downloads, isOfChain, registryAnswers } from './reachable.ts';

let server: Server;
let address: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const { pathname } = new URL(request.url ?? '', 'http://x');
      if (pathname.startsWith('/rpc')) {
        const { method, id } = JSON.parse(body) as { method: string; id: number };
        expect(method).toBe('eth_chainId');
        const answers: Record<string, unknown> = {
          '/rpc': { result: '0x10' },
          '/rpc/words': { result: 'sixteen' },
        };
        const answer = answers[pathname] ?? { error: { code: -32601, message: 'no such method' } };
        return response
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ jsonrpc: '2.0', id, ...(answer as object) }));
      }
      // As a server does that does not know ranges.
      if (pathname === '/large')
        return response.setHeader('content-length', 5_000_000_000).write('x'.repeat(100_000));
      const status = pathname === '/v2/' ? 401 : pathname === '/file' ? 200 : 404;
      return response.writeHead(status).end('<html>');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** What a bare server has, and neither curl nor wget. */
const bare = 'sh bash timeout sed head tail tr grep'.split(' ');

/** A host that is this machine, with these programs alone; undefined for all that it has. */
function machine(programs?: readonly string[]): Reader {
  let path = process.env.PATH;
  if (programs) {
    path = mkdtempSync(join(tmpdir(), 'reachable-'));
    onTestFinished(() => rmSync(path ?? '', { recursive: true }));
    for (const name of programs) {
      const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
      symlinkSync(found, join(path, name));
    }
  }
  const run = async (command: string): Promise<Output> => {
    const child = spawn('/bin/sh', ['-c', command], {
      env: { PATH: path, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const [out, err]: [Buffer[], Buffer[]] = [[], []];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    const [code] = (await once(child, 'close')) as [number];
    return new Output(code, Buffer.concat(out), Buffer.concat(err).toString());
  };
  return { $: shell(run) } as Reader;
}

const machines: [string, string[] | undefined][] = [
  ['with what this machine has', undefined],
  ...(existsSync('/usr/bin/wget') ? [['with wget', [...bare, 'wget']] satisfies [string, string[]]] : []),
  ['with bash alone', bare],
];

/** Whether an address is of the chain with this id. */
const answersForChain = async (host: Reader, url: string, id: number | undefined) =>
  isOfChain(url, await askChainId(host, url), id);

test.each(machines)('addresses that answer, %s', async (_, programs) => {
  const host = machine(programs);
  const verdicts = await Promise.all([
    downloads(host, `${address}/file`),
    downloads(host, `${address}/large`),
    registryAnswers(host, `${address}/v2/`, ''),
    answersForChain(host, `${address}/rpc`, 16),
    answersForChain(host, `${address}/rpc`, undefined),
  ]);
  expect(verdicts).toEqual([ok, ok, ok, ok, ok]);
});

test.each(machines)('addresses that answer something else, %s', async (_, programs) => {
  const host = machine(programs);
  const verdicts = await Promise.all([
    downloads(host, `${address}/missing`),
    registryAnswers(host, `${address}/missing`, ''),
    answersForChain(host, `${address}/rpc`, 1),
    answersForChain(host, `${address}/rpc/other`, 16),
    answersForChain(host, `${address}/rpc/words`, 16),
    answersForChain(host, `${address}/file`, 16),
  ]);
  expect(verdicts).toEqual([
    drift(`${address} answers HTTP 404`),
    drift(`${address} answers HTTP 404`),
    drift(`${address} is of the chain with id 16, and has to be of the one with id 1`),
    drift(`${address} answers an error: -32601 no such method`),
    drift(`${address} gives no chain id: "sixteen"`),
    drift(`${address} answers no JSON: <html>`),
  ]);
});

// Bash alone tries the connection only.
test.each(machines.slice(0, -1))(
  'a registry is asked with the certificates of the engine, %s',
  async (_, programs) => {
    const host = machine(programs);
    const { url, certificates } = await startPrivateRegistry();
    const asked = async () => describeVerdict(await registryAnswers(host, url, certificates));
    expect(describeVerdict(await registryAnswers(host, url, ''))).toMatch(/does not answer: .*certificate/i);
    expect(await asked()).toBe('ok');
    rmSync(join(certificates, 'client.key'));
    expect(await asked()).toMatch(/does not answer/);
  },
);

test.each(machines)('an address where nobody listens, %s', async (_, programs) => {
  // Taken and given back: nothing listens there now.
  const gone = createServer().listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  gone.close();
  const host = machine(programs);
  for (const url of [
    `http://127.0.0.1:${port}/key`,
    `https://127.0.0.1:${port}/key`,
    `git://127.0.0.1:${port}/key`,
  ]) {
    const verdict = await downloads(host, url);
    expect(verdict).toMatchObject({ is: 'drift' });
    expect(describeVerdict(verdict)).toMatch(
      /^\w+:\/\/127\.0\.0\.1:\d+ does not answer: .*(refused|[Cc]ould ?n.t connect|no answer)/,
    );
  }
});

test('other protocols are tried as far as the connection', async () => {
  const { port } = server.address() as AddressInfo;
  expect(await downloads(machine(), `git://127.0.0.1:${port}/node.git`)).toEqual(ok);
});

test('neither a key in an address nor the body of a request is in an argument list', async () => {
  const real = spawnSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).stdout.trim();
  const noting = `{ echo "$@"; tr '\\0' ' ' </proc/$PPID/cmdline; } >>"\${0%/*}/notes"; exec ${real} "$@"`;
  const notes = join(standInFor('curl', noting), 'notes');
  expect(await downloads(machine(), `${address}/file?key=5ec2e7`)).toEqual(ok);
  expect(await answersForChain(machine(), `${address}/rpc?key=5ec2e7`, 16)).toEqual(ok);
  expect(readFileSync(notes, 'utf8')).toContain('application/json');
  expect(readFileSync(notes, 'utf8')).not.toMatch(/5ec2e7|eth_chainId/);
});
