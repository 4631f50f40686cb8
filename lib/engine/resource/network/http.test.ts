import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fakeHost } from '../testing/fake-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { askHttp, probe, shownAddress, withoutQuery, withShownAddresses } from './http.ts';

/** Every byte value, and more than a pipe can buffer. */
const content = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 256));
let server: Server;
let address: string;
let asked: string[];

beforeAll(async () => {
  asked = [];
  server = createServer(({ url = '' }, response) => {
    asked.push(url);
    if (url === '/moved') return response.writeHead(302, { location: '/binary' }).end('elsewhere');
    if (url === '/silent') return;
    if (url === '/mute') return response.writeHead(200).flushHeaders();
    return response.end(content);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test.each(['/binary', '/moved'])(
  'the first bytes of %s arrive exactly, with or without ranges',
  async (path) => {
    const answer = await askHttp(await thisMachine(), `${address}${path}`, { length: 70_000 });
    expect(answer).toMatchObject({ answered: true, status: 200, size: content.length });
    expect(answer.answered && answer.body.equals(content.subarray(0, 70_000))).toBe(true);
  },
);

test('a web proxy of the session is not used: neither downloads nor containers know it', async () => {
  // sshd or sudo may set it, from /etc/environment.
  const env = { ...process.env, http_proxy: 'http://127.0.0.1:9' };
  const asking = promisify(execFile)('sh', ['-c', probe, 'probe', '10', '1'], { env });
  asking.child.stdin?.end(`${address}/binary\n\n`);
  expect((await asking).stdout).toMatch(/^HTTP\/1.1 200 OK\r\n/);
});

test('a server that sends headers and then nothing counts as answering', async () => {
  const answer = await askHttp(await thisMachine(), `${address}/mute`, { seconds: 1 });
  expect(answer).toMatchObject({ answered: true, status: 200, size: undefined });
});

test('a server that accepts a request and never answers is noticed after the time limit, whatever the patience', async () => {
  const began = performance.now();
  const answer = await askHttp(await thisMachine(), `${address}/silent`, { seconds: 1, patience: 100 });
  expect(answer).toMatchObject({ answered: false });
  expect(performance.now() - began).toBeLessThan(50_000);
});

test.each(['/a?b=c&d', '/[1-3]{a,b}', '/"quoted"', '/back\\slash\\n\\', `/it's$(touch%20x)\`id\``, '/x="y"'])(
  '%s is one address and not a pattern',
  async (path) => {
    expect(await askHttp(await thisMachine(), `${address}${path}`)).toMatchObject({
      answered: true,
      status: 200,
    });
    expect(asked.at(-1)).toBe(path);
  },
);

/** Asks where the probe prints this. */
const askWhere = (text: string, length = 1) => askHttp(fakeHost([[/probe/, text]]), 'http://x', { length });

test('of several answers the last one counts', async () => {
  const text =
    'HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nHTTP/2 200\r\ncontent-length: 160000000000\r\n\r\nbody';
  const answer = { answered: true, status: 200, size: 160_000_000_000, body: Buffer.from('body') };
  expect(await askWhere(text, 10)).toEqual(answer);
  const unsized = 'HTTP/1.1 302 Found\r\nContent-Length: 5\r\n\r\nHTTP/2 200\r\n\r\n';
  expect(await askWhere(unsized, 10)).toMatchObject({ status: 200, size: undefined });
});

test('a range shows the size of the whole file', async () => {
  const text = 'HTTP/1.1 206 Partial Content\nContent-Length: 1\nContent-Range: bytes 0-0/160\n\nx';
  expect(await askWhere(text)).toMatchObject({ status: 206, size: 160 });
});

test.each([
  ['connected\n', { answered: true, status: undefined }],
  ['SSH-2.0-OpenSSH_9.2\r\n', { answered: false, why: 'something answers that does not speak HTTP' }],
])('%j is an answer without HTTP', async (text, answer) => {
  expect(await askWhere(text)).toMatchObject(answer);
});

test.each([
  ['curl: (6) Could not resolve host: x\n', 'Could not resolve host: x'],
  [
    'bash: connect: Connection refused\nbash: line 2: /dev/tcp/127.0.0.1/1: Connection refused\n',
    'Connection refused',
  ],
  [
    // curl 7.88 of Debian 12, asked for a self-signed server.
    `curl: (60) SSL certificate problem: self-signed certificate
More details here: https://curl.se/docs/sslcerts.html

curl failed to verify the legitimacy of the server and therefore could not
establish a secure connection to it. To learn more about this situation and
how to fix it, please visit the web page mentioned above.
`,
    'SSL certificate problem: self-signed certificate',
  ],
  ['', 'no answer'],
])('without an answer the reason is the last error line of curl: %j', async (stderr, why) => {
  expect(await askHttp(fakeHost([[/probe/, { exitCode: 0, stderr }]]), 'http://x')).toEqual({
    answered: false,
    why,
  });
});

test.each([
  ['https://x.example/a/b', 'https://x.example/a/b'],
  ['https://x.example/a?X-Amz-Signature=5ec2e7&b=c?d', 'https://x.example/a'],
  ['https://x.example?5ec2e7', 'https://x.example'],
])('%s is shown as %s', (url, shown) => {
  expect(withoutQuery(url)).toBe(shown);
});

test.each([
  ['https://user:pass@l1.example:8443/v3/KEY?x=KEY', 'https://l1.example:8443'],
  ['wss://l1.example/KEY#KEY', 'wss://l1.example'],
  ['postgres://user:pa@ss@db.example:5432/state_db', 'postgres://db.example:5432'],
  ['https://[2001:db8::1]:8443/KEY', 'https://[2001:db8::1]:8443'],
])('of %s only the server is shown, alone and in a text', (url, shown) => {
  expect(shownAddress(url)).toBe(shown);
  expect(withShownAddresses(`Post "${url}": it failed`)).toBe(`Post "${shown}": it failed`);
  expect(withShownAddresses(`${url}: it failed (${url}), and ${url}`)).toBe(
    `${shown}: it failed (${shown}), and ${shown}`,
  );
});
