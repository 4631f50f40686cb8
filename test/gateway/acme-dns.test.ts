import type { ChildProcess } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ok, type Resource } from '../../lib/engine/resource/resource.ts';
import { applyDrift } from '../../lib/engine/resource/testing/test-host.ts';
import { acmeProgram, dnsCredentialsFile, triedCredentialsFile } from '../../lib/node/gateway/paths.ts';
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
import { type Gateway, startGateway, until } from './gateway.ts';
import { type NameServer, newTsigKey, startNameServer, type TsigKey } from './name-server.ts';
import { type RpcHost, rpcHost } from './rpc-host.ts';

const rpcPorts = { http: 28423, websocket: 28433 };
const ports = { http: 28440, websocket: 28441, metrics: 28442, peers: 28443 };
const dns = { primary: 28400, secondary: 28401 };
/** One asks the server that has each record at once, the other one the server that has it later. */
const prompt = { acme: 28410, roots: 28411, dns: dns.primary };
const late = { acme: 28412, roots: 28413, dns: dns.secondary };
const directoryOf = ({ acme }: { acme: number }) => `https://127.0.0.1:${acme}/dir`;
const names = ['*.rpc.example', 'rpc.example'];
const challenge = '_acme-challenge.rpc.example';

let folder: string;
let hosts: readonly [AcmeHost, AcmeHost];
let start: Start;
let nameServer: NameServer;
let gateway: Gateway | undefined;
let rpc: RpcHost;
const programs: ChildProcess[] = [];
/** As certbot.service does, and without a wait until it is due. */
const renewal = ['certbot', '-q', 'renew', '--no-random-sleep-on-renew', '--force-renewal'];
const goodKey = newTsigKey('acme');

interface Wanted {
  readonly key?: TsigKey;
  readonly seconds?: number;
  readonly names?: readonly string[];
  readonly server?: { readonly acme: number };
}

async function contextOf(name: 'gw-1' | 'gw-2', wanted: Wanted = {}) {
  const { key = goodKey, seconds = 1, server = prompt } = wanted;
  const secret = join(folder, `${key.name}-${key.secret.replace(/\W/g, '')}`);
  // At once, as another one may read the file at the same time.
  writeFileSync(secret, `${key.secret}\n`, { mode: 0o600 });
  const rfc2136 = { server: '127.0.0.1', port: dns.primary, name: key.name, secret: `file:${secret}` };
  const acme = {
    email: 'ops@rpc.example',
    directory: directoryOf(server),
    dns: { rfc2136, propagation_seconds: seconds },
  };
  const inventory = await labDeployment([
    [['groups', 'rpc'], { 'rpc-1': { address: '127.0.8.1' } }],
    [['groups', 'database', 'db-1', 'address'], '127.0.8.9'],
    [['groups', 'gateway'], { 'gw-1': { address: '127.0.8.101' }, 'gw-2': { address: '127.0.8.102' } }],
    [['vars', 'ports'], { rpc_http: rpcPorts.http, rpc_websocket: rpcPorts.websocket }],
    [['vars', 'gateway'], { ...ports, tls: { acme, names: wanted.names ?? names } }],
  ]);
  const deployment = await loadDeployment(inventory);
  const host = deployment.hosts.find((each) => each.name === name);
  if (!host) throw new Error(name);
  return { host, vars: host.vars, hosts: deployment.hosts, facts: sound, includes: () => true, given: {} };
}

/** The file of credentials, and the certificate: what the role has beside certbot's timer. */
async function resources(name: 'gw-1' | 'gw-2', wanted?: Wanted): Promise<readonly [Resource, Resource]> {
  const [credentials, , issued] = await gatewayCertificate.resources(await contextOf(name, wanted));
  if (!credentials || !issued) throw new Error('no certificate');
  return [credentials, issued];
}

async function deploy(name: 'gw-1' | 'gw-2', wanted?: Wanted): Promise<void> {
  const host = hosts[name === 'gw-1' ? 0 : 1];
  const [credentials, issued] = await resources(name, wanted);
  await applyDrift(host.writer, credentials);
  await applyDrift(host.writer, issued);
}

const check = async (name: 'gw-1' | 'gw-2', wanted?: Wanted) => {
  const [, issued] = await resources(name, wanted);
  return issued.check(hosts[name === 'gw-1' ? 0 : 1].writer);
};

const serial = async ({ writer }: AcmeHost) =>
  (await writer.run`openssl x509 -noout -serial -in /etc/rpc-node/gateway/acme.pem`).text();

/** What a client gets that asks for a name. */
function handshake(servername: string, ca: string) {
  return new Promise<{ authorized: boolean; protocol: string | null; serial: string }>((resolve, reject) => {
    const socket = connect({ port: ports.http, host: '127.0.0.1', servername, ca }, () => {
      const { authorized } = socket;
      resolve({
        authorized,
        protocol: socket.getProtocol(),
        serial: socket.getPeerCertificate().serialNumber,
      });
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

/** With npm run test:long alone: certbot takes seconds for each certificate. */
describe.skipIf(!inEveryForm)('certificates by ACME and the DNS', () => {
  beforeAll(async () => {
    installMissing([
      ['/usr/sbin/haproxy', 'haproxy'],
      ['/usr/bin/socat', 'socat'],
      ['/usr/bin/curl', 'curl'],
      ['/usr/bin/certbot', 'certbot'],
      ['/usr/lib/python3/dist-packages/certbot_dns_rfc2136', 'python3-certbot-dns-rfc2136'],
      ['/usr/bin/pebble', 'pebble'],
      ['/usr/sbin/named', 'bind9'],
      ['/usr/bin/nsupdate', 'bind9-dnsutils'],
    ]);
    folder = await mkdtemp(join(tmpdir(), 'acme-dns-'));
    start = starter(folder, programs);
    makeAcmeCertificate(folder);
    nameServer = await startNameServer(start, folder, dns, goodKey);
    await startPebble(start, folder, prompt, 1);
    await startPebble(start, folder, late, 1);
    hosts = [await startAcmeHost('gw-1', folder, programs), await startAcmeHost('gw-2', folder, programs)];
    rpc = rpcHost('rpc-1', '127.0.8.1', rpcPorts);
    await rpc.start();
    for (const { writer } of hosts) await writer.run`${acmeProgram} placeholder`;
    await pebblesRoot(folder, prompt.roots);
    await pebblesRoot(folder, late.roots);
  }, 600_000);
  afterAll(async () => {
    await gateway?.kill();
    await rpc?.kill();
    for (const each of programs) each.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  test('two gateways get certificates of their own at the same time, for all names of a domain, without port 80', async () => {
    const inOne = (text: string) =>
      text.replace(
        'global\n',
        'global\n    stats socket /run/haproxy/admin.sock level admin expose-fd listeners\n',
      );
    gateway = await startGateway(await contextOf('gw-1'), inOne, hosts[0].inside);
    await writeFile(
      join(hosts[0].bin, 'systemctl'),
      `#!/bin/sh\n[ "$1" != reload ] || kill -USR2 ${gateway.pid}\n`,
    );
    await writeFile(join(hosts[1].bin, 'systemctl'), '#!/bin/sh\nexit 3\n');
    for (const { bin } of hosts) await chmod(join(bin, 'systemctl'), 0o755);
    await Promise.all([deploy('gw-1'), deploy('gw-2')]);
    expect(await Promise.all([check('gw-1'), check('gw-2')])).toEqual([ok, ok]);
    expect(await serial(hosts[0])).not.toBe(await serial(hosts[1]));
    expect(nameServer.records(challenge)).toEqual([]);
    const root = await pebblesRoot(folder, prompt.roots);
    const seen = await handshake('any.rpc.example', root);
    expect(seen).toMatchObject({ authorized: true, protocol: 'TLSv1.3' });
    expect(`serial=${seen.serial}`).toBe(await serial(hosts[0]));
    await expect(handshake('deep.any.rpc.example', root)).rejects.toThrow(/altnames/);
  });

  test('the credentials are for root alone, and in no log and no other file of certbot', async () => {
    const { stdout } = await hosts[0].writer
      .run`stat -c '%a %U' ${dnsCredentialsFile} ${triedCredentialsFile}`;
    expect(stdout).toBe('600 root\n600 root\n');
    const found = await hosts[0].writer.run({
      allow: [1],
      stdin: '',
    })`grep -rlF ${goodKey.secret} /var/log/letsencrypt /etc/letsencrypt /var/lib/letsencrypt`;
    expect(found.stdout).toBe('');
  });

  test('a renewal by the timer takes the same way', async () => {
    const before = await serial(hosts[0]);
    await hosts[0].writer.run`${renewal}`;
    expect(await serial(hosts[0])).not.toBe(before);
    expect(await check('gw-1')).toEqual(ok);
  });

  test('a changed key is tried, without another certificate', async () => {
    const [before, key] = [await serial(hosts[1]), newTsigKey('other')];
    await nameServer.useKey(key);
    const [credentials] = await resources('gw-2', { key });
    await applyDrift(hosts[1].writer, credentials);
    expect(await check('gw-2', { key })).toMatchObject({
      differences: [{ what: 'tried with this key', was: 'no', wanted: 'yes' }],
    });
    await deploy('gw-2', { key });
    expect(await check('gw-2', { key })).toEqual(ok);
    expect(await serial(hosts[1])).toBe(before);
    await nameServer.useKey(goodKey);
    await deploy('gw-2');
  });

  test.each([
    ['secret', { name: goodKey.name, secret: newTsigKey('').secret }, "didn't like the signature"],
    ['name', { name: 'nobody', secret: goodKey.secret }, "didn't know the key"],
  ] as const)(
    'a TSIG key with another %s is refused in the words of the server, and the certificate stays',
    async (_, key, words) => {
      const before = await serial(hosts[0]);
      const failing = deploy('gw-1', { key });
      await expect(failing).rejects.toMatchObject({
        message: expect.stringMatching(
          new RegExp(`^certbot cannot show by the DNS .*: [^\n]*${words}[^\n]*$`),
        ),
        hint: expect.stringContaining('gateway.tls.acme.dns'),
      });
      expect(await serial(hosts[0])).toBe(before);
      expect((await check('gw-1', { key })).is).toBe('drift');
      // certbot renews by the key that works.
      await hosts[0].writer.run`${renewal}`;
      const renewed = await serial(hosts[0]);
      expect(renewed).not.toBe(before);
      await deploy('gw-1');
      expect(await serial(hosts[0])).toBe(renewed);
    },
  );

  test('a name outside of the zone is refused', async () => {
    const before = await serial(hosts[0]);
    await expect(deploy('gw-1', { names: ['rpc.other.test'] })).rejects.toMatchObject({
      message: expect.stringContaining('Unable to determine base domain for _acme-challenge.rpc.other.test'),
    });
    expect(await serial(hosts[0])).toBe(before);
  });

  test('a record that is left from before does not matter, and stays', async () => {
    nameServer.add(challenge, 'left');
    const before = await serial(hosts[0]);
    await deploy('gw-1', { names: ['rpc.example'] });
    expect(await serial(hosts[0])).not.toBe(before);
    expect(nameServer.records(challenge)).toEqual(['"left"']);
  });

  test('certbot that is killed while it waits leaves a record, and the next run gets the certificate', async () => {
    const before = await serial(hosts[1]);
    const many = nameServer.records(challenge).length;
    const running = deploy('gw-2', { names: ['rpc.example'], seconds: 60 });
    const failed = expect(running).rejects.toThrow();
    await until(async () => nameServer.records(challenge).length > many, 'the record is there', 30);
    // This host alone has its files.
    await hosts[1].writer.run`for each in /proc/[0-9]*; do
      [ "$(readlink "$each/ns/mnt")" = "$(readlink /proc/self/ns/mnt)" ] || continue
      if grep -qsz '^--cert-name$' "$each/cmdline"; then kill -9 "\${each#/proc/}"; fi
    done`;
    await failed;
    expect(await serial(hosts[1])).toBe(before);
    expect(nameServer.records(challenge).length).toBe(many + 1);
    await deploy('gw-2', { names: ['rpc.example'] });
    expect(await serial(hosts[1])).not.toBe(before);
  });

  test('too short a time for the other servers of the zone is refused, and a longer one is enough', async () => {
    const before = await serial(hosts[0]);
    nameServer.tell();
    const hasOthers = async () => nameServer.records(challenge, dns.secondary).length > 0;
    await until(hasOthers, 'the secondary server has records from before');
    const tooShort = await deploy('gw-1', { server: late, seconds: 0 }).catch((error) => error);
    expect(tooShort.message).toMatch(
      /^certbot cannot show by the DNS .*Domain: rpc\.example\n.*Correct value not found for DNS challenge/s,
    );
    expect(tooShort.hint).toContain('propagation_seconds');
    expect(await serial(hosts[0])).toBe(before);
    const enough = { server: late, seconds: 5 };
    const telling = setInterval(nameServer.tell, 1000);
    await deploy('gw-1', enough).finally(() => clearInterval(telling));
    expect(await check('gw-1', enough)).toEqual(ok);
    expect(await check('gw-1', { server: late, seconds: 0 })).toMatchObject({
      differences: [{ what: 'renewed by', was: 'rfc2136:5', wanted: 'rfc2136:0' }],
    });
  });

  test('a server of the DNS that is away fails the run, and the certificate stays', async () => {
    const before = await serial(hosts[0]);
    await nameServer.stop();
    await expect(deploy('gw-1')).rejects.toMatchObject({
      message: expect.stringMatching(/^certbot cannot show by the DNS .*The DNS operation timed out/),
    });
    expect(await serial(hosts[0])).toBe(before);
    expect(await handshake('rpc.example', await pebblesRoot(folder, late.roots))).toMatchObject({
      authorized: true,
    });
  });
});
