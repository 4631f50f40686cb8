import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeVerdict, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import type { Variables } from '../variables/variables.ts';
import { historiesAgree, layer1HasOurBlocks } from './layer1-history.ts';

/** The hash of each block of layer 1. */
let layer1: Readonly<Record<number, string>> = {};
let folder: string;
let url: string;

const server = createServer(async (request, response) => {
  const { id, params } = JSON.parse((await request.toArray()).join('')) as { id: number; params: [string] };
  const number = Number(params[0]);
  const hash = layer1[number];
  const result = hash === undefined ? null : { number: params[0], hash, timestamp: '0x1' };
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/key?x=5ec2e7`;
  folder = mkdtempSync(join(tmpdir(), 'layer1-'));
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

/**
 * @param newest and `older`: what psql prints for the newest block, and for that of 64 blocks
 * before
 */
async function check({ newest = '', older = '', here = layer1 }, of = layer1HasOurBlocks) {
  layer1 = here;
  const script = `#!/bin/sh\ncase "$*" in *-F\\ *state.block*'- 64'*) printf '%s' '${older}' ;; *) printf '%s' '${newest}' ;; esac\n`;
  writeFileSync(join(folder, 'docker'), script, { mode: 0o755 });
  const { vars } = await contextOf({ network: { l1_rpc_url: url } });
  return of(vars).check(localHost(folder));
}

test('the newest block of the database is found on layer 1, in any spelling', async () => {
  expect(await check({ newest: '0xAB 100\n', here: { 100: '0xab' } })).toEqual(ok);
});

test('a database without layer-1 blocks has nothing to compare', async () => {
  expect(await check({})).toEqual(ok);
});

test('another history is refused with both hashes, and without the key in the address', async () => {
  const verdict = await check({
    newest: '0xab 100\n',
    older: '0xcd 36\n',
    here: { 100: '0x12', 36: '0x34' },
  });
  const address = url.replace(/\/key.*/, '');
  expect(describeVerdict(verdict)).toBe(
    `layer 1 has another history: block 100 is 0xab in the state database and 0x12 on ${address}`,
  );
  expect(describeVerdict(await check({ newest: '0xab 100\n', older: '0xcd 36\n', here: {} }))).toBe(
    `${address} has no block 100, and the state database has (0xab)`,
  );
});

test('a reorganization of the last blocks, and a layer 1 that lags behind, are accepted', async () => {
  const rows = { newest: '0xab 100\n', older: '0xcd 36\n' };
  expect(await check({ ...rows, here: { 100: '0x12', 36: '0xcd' } })).toEqual(ok);
  expect(await check({ ...rows, here: { 36: '0xcd' } })).toEqual(ok);
});

test('a database or a layer 1 that does not answer is reported', async () => {
  const { vars } = await contextOf({
    network: { l1_rpc_url: 'http://127.0.0.1:1/key' },
  });
  writeFileSync(join(folder, 'docker'), '#!/bin/sh\necho 0xab 100\n', { mode: 0o755 });
  const verdict = await layer1HasOurBlocks(vars).check(localHost(folder));
  expect(describeVerdict(verdict)).toMatch(/^http:\/\/127\.0\.0\.1:1 does not answer: ./);
  writeFileSync(join(folder, 'docker'), '#!/bin/sh\necho no such container >&2\nexit 1\n', { mode: 0o755 });
  expect(await layer1HasOurBlocks(vars).check(localHost(folder))).toEqual(
    unknownUntil('state-db answers SQL: no such container'),
  );
  expect(await check({ newest: 'NOTICE: 0x64' })).toEqual(
    unknownUntil('state-db answers SQL: no block: NOTICE: 0x64'),
  );
});

test('before anything is stopped, another history is refused, and what cannot be compared yet is left for later', async () => {
  const early = (vars: Variables) => {
    const [resource] = historiesAgree(vars, false);
    if (!resource) throw new Error('it is not asked');
    return resource;
  };
  const other = { newest: '0xab 100\n', older: '0xcd 36\n', here: { 100: '0x12', 36: '0x34' } };
  expect(describeVerdict(await check(other, early))).toMatch(/^layer 1 has another history: block 100 /);
  expect(await check({ ...other, newest: 'NOTICE: 0x64' }, early)).toEqual(ok);
  expect(await check({}, early)).toEqual(ok);
  const { vars } = await contextOf({});
  expect(historiesAgree(vars, true)).toEqual([]);
});
