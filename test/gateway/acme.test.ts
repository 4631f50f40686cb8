import type { ChildProcess } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ok, type Resource } from '../../lib/engine/resource/resource.ts';
import { applyDrift } from '../../lib/engine/resource/testing/test-host.ts';
import { acmeProgram } from '../../lib/node/gateway/paths.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { sound } from '../../lib/node/testing/role-context.ts';
import gatewayCertificate from '../../roles/gateway-certificate.ts';
import { inEveryForm } from '../faults/seed.ts';
import { installMissing } from '../install-missing.ts';
import {
  type AcmeHost,
  makeAcmeCertificate,
  pebblesRoot,
  type Start,
  startAcmeHost,
  starter,
  startPebble,
} from './acme-host.ts';
import { type Gateway, get, startGateway, until } from './gateway.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';

const rpcPorts = { http: 28123, websocket: 28133 };
const ports = { http: 28200, websocket: 28201, metrics: 28202, peers: 28203 };
/** Of the second gateway, which is on the same machine. */
const otherPorts = { http: 28210, websocket: 28211, metrics: 28212, peers: 28213 };
/** In place of port 80. */
const challengePort = 28080;
const [first, second, nobody] = ['127.0.7.101', '127.0.7.102', '127.0.7.103'];
const server = { acme: 28300, roots: 28301, dns: 28302, names: 28303 };
const directory = `https://127.0.0.1:${server.acme}/dir`;

async function contextOf(
  name: string,
  names: readonly string[] = ['rpc.example', 'www.example'],
  from = directory,
) {
  const inventory = await labDeployment([
    [['groups', 'rpc'], { 'rpc-1': { address: '127.0.7.1' } }],
    [['groups', 'database', 'db-1', 'address'], '127.0.7.9'],
    [
      ['groups', 'gateway'],
      { 'gw-1': { address: first }, 'gw-2': { address: second, vars: { gateway: otherPorts } } },
    ],
    [['vars', 'ports'], { rpc_http: rpcPorts.http, rpc_websocket: rpcPorts.websocket }],
    [['vars', 'gateway'], { ...ports, tls: { acme: { email: 'ops@rpc.example', directory: from }, names } }],
  ]);
  const { hosts } = await loadDeployment(inventory);
  const host = hosts.find((each) => each.name === name);
  if (!host) throw new Error(name);
  return { host, vars: host.vars, hosts, facts: sound, includes: () => true, given: {} };
}

/** The last task of the role: the certificate itself. */
async function certificate(...given: [names?: readonly string[], directory?: string]): Promise<Resource> {
  const [, issued] = await gatewayCertificate.resources(await contextOf('gw-1', ...given));
  if (!issued) throw new Error('no certificate');
  return issued;
}

let folder: string;
let host: AcmeHost;
let start: Start;
const programs: ChildProcess[] = [];
let gateways: Gateway[] = [];
let rpc: RpcHost;
let root: string;

/** Names that lead to a gateway: the first one, if not said otherwise. */
async function startNames(): Promise<void> {
  const off = ['-http01', '', '-https01', '', '-tlsalpn01', ''];
  const names = ['-defaultIPv4', first, '-defaultIPv6', '', '-dns01', `127.0.0.1:${server.dns}`];
  start('pebble-challtestsrv', [...names, ...off, '-management', `127.0.0.1:${server.names}`]);
  const at = async (name: string, address: string) =>
    get({ port: server.names, path: '/add-a', body: { host: `${name}.`, addresses: [address] } });
  await until(async () => (await at('www.example', second)).status === 200, 'names are known', 60);
  await at('elsewhere.example', nobody);
}

/** Where the first gateway has its own ports. */
const onThisMachine = (address: string) => (text: string) =>
  text
    .replace('global\n', 'global\n    stats socket /run/haproxy/admin.sock level admin expose-fd listeners\n')
    .replace('bind *:80\n', `bind ${address}:${challengePort}\n`)
    .replace(/^.*bind :::80 .*\n/m, '')
    .replaceAll(':80\n', `:${challengePort}\n`);

const call = { jsonrpc: '2.0', id: 1, method: 'who', params: [] };
const ask = () => get({ port: ports.http, body: call, trusts: root });
const serial = async () =>
  (await host.writer.run`openssl x509 -noout -serial -in /etc/rpc-node/gateway/acme.pem`).text();

/** With npm run test:long alone: certbot takes seconds for each certificate. */
describe.skipIf(!inEveryForm)('certificates by ACME', () => {
  beforeAll(async () => {
    installMissing([
      ['/usr/sbin/haproxy', 'haproxy'],
      ['/usr/bin/socat', 'socat'],
      ['/usr/bin/curl', 'curl'],
      ['/usr/bin/certbot', 'certbot'],
      ['/usr/bin/pebble', 'pebble'],
    ]);
    folder = await mkdtemp(join(tmpdir(), 'acme-'));
    start = starter(folder, programs);
    makeAcmeCertificate(folder);
    await startNames();
    await startPebble(start, folder, server, challengePort);
    host = await startAcmeHost('gw-1', folder, programs);
    rpc = rpcHost('rpc-1', '127.0.7.1', rpcPorts);
    await rpc.start();
    await host.writer.run`${acmeProgram} placeholder`;
    root = await pebblesRoot(folder, server.roots);
  });
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.kill()));
    await rpc?.kill();
    for (const each of programs) each.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  test('the first start has a placeholder, which no client trusts', async () => {
    const other = (text: string) =>
      onThisMachine(second)(text)
        .replace(/^.*stats socket.*\n/m, '')
        .replaceAll('127.0.0.1:8402', `${second}:8402`);
    gateways = [await startGateway(await contextOf('gw-1'), onThisMachine(first), host.inside)];
    gateways.push(await startGateway(await contextOf('gw-2'), other, host.inside));
    await writeFile(
      join(host.bin, 'systemctl'),
      `#!/bin/sh\n[ "$1" != reload ] || kill -USR2 ${gateways[0]?.pid}\n`,
    );
    await chmod(join(host.bin, 'systemctl'), 0o755);
    await expect(ask()).rejects.toThrow(/self-signed certificate/);
    expect(await (await certificate()).check(host.writer)).toMatchObject({
      is: 'drift',
      differences: [
        { what: 'issued by', was: 'none', wanted: directory },
        { what: 'renewed by', was: 'none', wanted: 'http' },
        { what: 'for', was: 'none', wanted: 'rpc.example www.example' },
        { what: 'valid', was: 'none', wanted: 'yes' },
        { what: 'HAProxy has it', was: 'no', wanted: 'yes' },
      ],
    });
  });

  test('a certificate is issued, though each name leads to another gateway, and HAProxy serves with it', async () => {
    const issued = await certificate();
    await applyDrift(host.writer, issued);
    expect(await issued.check(host.writer)).toEqual(ok);
    expect((await ask()).status).toBe(200);
    const { stdout } = await host.writer.run`stat -c '%a %U' /etc/rpc-node/gateway/acme.pem`;
    expect(stdout).toBe('600 root\n');
  });

  test('a renewal by the timer fails no request', async () => {
    const before = await serial();
    const failed: unknown[] = [];
    let asked = 0;
    let running = true;
    const load = (async () => {
      while (running) {
        await ask().then(
          ({ status }) => status === 200 || failed.push(status),
          (error) => failed.push(error),
        );
        asked += 1;
        await sleep(5);
      }
    })();
    // As certbot.service does, and without a wait until it is due.
    await host.writer.run`certbot -q renew --no-random-sleep-on-renew --force-renewal`;
    const after = await serial();
    running = false;
    await load;
    expect(after).not.toBe(before);
    expect(failed).toEqual([]);
    expect(asked).toBeGreaterThan(20);
    expect(await (await certificate()).check(host.writer)).toEqual(ok);
  });

  test('HAProxy that runs with another certificate gets the issued one, without a new one', async () => {
    const before = await serial();
    await host.writer.run`cp /etc/rpc-node/gateway/acme.pem /etc/acme.old && ${acmeProgram} placeholder`;
    const issued = await certificate();
    expect(await issued.check(host.writer)).toMatchObject({
      differences: [{ what: 'HAProxy has it', was: 'no', wanted: 'yes' }],
    });
    await applyDrift(host.writer, issued);
    expect(await issued.check(host.writer)).toEqual(ok);
    expect(await serial()).toBe(before);
  });

  test('other names, or another server, are a new certificate', async () => {
    const before = await serial();
    const names = ['new.example', 'rpc.example'];
    const issued = await certificate(names);
    expect(await issued.check(host.writer)).toMatchObject({
      differences: [{ what: 'for', was: 'rpc.example www.example', wanted: 'new.example rpc.example' }],
    });
    await applyDrift(host.writer, issued);
    expect(await issued.check(host.writer)).toEqual(ok);
    expect(await serial()).not.toBe(before);
    const other = await certificate(names, directory.replace('127.0.0.1', 'localhost'));
    expect(await other.check(host.writer)).toMatchObject({
      differences: [{ what: 'issued by', was: directory }],
    });
  });

  test('a name that does not lead to a gateway is refused with the words of the server, and the old certificate stays', async () => {
    const before = await serial();
    await expect(
      applyDrift(host.writer, await certificate(['rpc.example', 'elsewhere.example'])),
    ).rejects.toMatchObject({
      message: expect.stringMatching(
        /^certbot gets no certificate: .*Domain: elsewhere\.example\n.*Detail: .*connection refused/s,
      ),
      hint: expect.stringContaining('port 80'),
    });
    expect(await serial()).toBe(before);
    expect((await ask()).status).toBe(200);
  });

  test('port 80 has nothing but challenges', async () => {
    const status = async (path: string) => (await get({ port: challengePort, path, address: first })).status;
    expect(await status('/')).toBe(404);
    expect(await status('/.well-known/acme-challenge/x')).toBe(503);
  });
});
