import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { download } from '../../lib/engine/resource/download/download.ts';
import { packages } from '../../lib/engine/resource/system/packages.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { converge } from './converge.ts';
import { scratchHost } from './scratch.ts';

const content = randomBytes(600_000);
const hash = createHash('sha256').update(content).digest('hex');
const directory = '/srv/download-test';

let host: TestHost;
let server: Server | undefined;
let address: string;
/** Requests to the server: method, path and range. */
let requests: string[];
/** How many more responses end halfway. */
let drops: number;
/** Milliseconds before such an end. */
let dropsAfter: number;

/** A file server with configurable faults. */
function serve(): Server {
  return createServer((request, response) => {
    const { url = '', method = '', headers } = request;
    requests.push([method, url, headers.range].filter(Boolean).join(' '));
    if (url === '/absent') return response.writeHead(404).end();
    const body = url === '/cut' ? content.subarray(0, -1) : content;
    const from = url === '/no-ranges' ? 0 : Number(/bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
    if (from >= body.length) return response.writeHead(416).end();
    const part = body.subarray(from);
    const range = from > 0 ? { 'content-range': `bytes ${from}-${body.length - 1}/${body.length}` } : {};
    response.writeHead(from > 0 ? 206 : 200, { 'content-length': part.length, etag: '"1"', ...range });
    if (method === 'HEAD') return response.end();
    if (drops === 0) return response.end(part);
    drops -= 1;
    return response.write(part.subarray(0, part.length / 2), () =>
      setTimeout(() => response.destroy(), dropsAfter),
    );
  });
}

const file = (path: string, name: string, wanted = hash) =>
  download({ url: `${address}/${path}`, path: `${directory}/${name}`, sha256: wanted });
const gets = () => requests.filter((request) => request.startsWith('GET'));

beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  const curl = packages('curl');
  if ((await curl.check(host)).is === 'drift') await applyDrift(host, curl);
  const listening = serve().listen(0, '0.0.0.0');
  server = listening;
  // The machine that runs the tests is the host's gateway.
  const gateway = (await host.run`ip route show default | cut -d ' ' -f 3`).text();
  address = `http://${gateway}:${(listening.address() as AddressInfo).port}`;
  return scratch.remove;
});

afterAll(() => server?.close());

beforeEach(async () => {
  requests = [];
  drops = 0;
  dropsAfter = 50;
  await host.run`rm -rf ${directory} && mkdir ${directory}`;
});

test('a file is fetched once, verified, and then neither fetched nor hashed again', async () => {
  await converge(host, file('file', 'a'));
  expect(await host.sha256(`${directory}/a`)).toBe(hash);
  expect((await host.$`ls ${directory}`).lines()).toEqual(['a', 'a.verified']);
  expect(await file('file', 'a').check(host)).toEqual({ is: 'ok' });
  expect(gets()).toHaveLength(1);
});

test('an interrupted download continues where it stopped', async () => {
  drops = 2;
  await converge(host, file('file', 'b'));
  expect(gets()).toEqual(['GET /file', 'GET /file bytes=300000-599999', 'GET /file bytes=450000-599999']);
});

test('a server that cannot continue is asked for the whole file', async () => {
  drops = 1;
  await converge(host, file('no-ranges', 'c'));
  expect(gets()).toEqual(['GET /no-ranges', 'GET /no-ranges bytes=300000-599999', 'GET /no-ranges']);
});

test('a partial file of unknown origin is not continued', async () => {
  await host.run`echo junk > ${directory}/d.part`;
  await converge(host, file('file', 'd'));
  expect(gets()).toEqual(['GET /file']);
});

test('a file that was copied by hand is verified and kept', async () => {
  await converge(host, file('file', 'e'));
  await host.run`rm ${directory}/e.verified`;
  requests = [];
  await converge(host, file('file', 'e'));
  expect(requests).toEqual([]);
});

test('a foreign file with other content is never overwritten', async () => {
  await host.run`echo precious > ${directory}/f`;
  await expect(applyDrift(host, file('file', 'f'))).rejects.toThrow('is not a file of this tool');
  expect((await host.$`cat ${directory}/f`).text()).toBe('precious');
});

test('a corrupted file is never put in place, and the error shows both hashes', async () => {
  const found = createHash('sha256').update(content.subarray(0, -1)).digest('hex');
  await expect(applyDrift(host, file('cut', 'g'))).rejects.toThrow(
    `SHA-256 ${found}, wanted ${hash} (599999 bytes)`,
  );
  expect(await host.stat(`${directory}/g`)).toBeUndefined();
});

test('a missing file is reported at once', async () => {
  await expect(applyDrift(host, file('absent', 'h'))).rejects.toThrow(`${address}/absent answers 404`);
  expect(gets()).toHaveLength(1);
});

test('a download that continues without us is found again', async () => {
  drops = 1;
  // Longer than the first watch.
  dropsAfter = 4000;
  const gone = { ...host, sleep: async () => Promise.reject(new Error('connection lost')) };
  await expect(applyDrift(gone, file('file', 'i'))).rejects.toThrow('connection lost');
  await applyDrift(host, file('file', 'i'));
  expect(await file('file', 'i').check(host)).toEqual({ is: 'ok' });
  expect(gets()).toHaveLength(2);
});
