import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { askWebSocket } from '../../lib/node/chain/web-socket.ts';
import { localHost } from '../../lib/node/testing/local-host.ts';
import { gatewayContext, ports, rpcPorts } from '../gateway/fleet.ts';
import { type Gateway, startGateway } from '../gateway/gateway.ts';
import { type RpcHost, rpcHost } from '../gateway/rpc-host.ts';
import { installMissing } from '../install-missing.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import { buildClient } from './client.ts';

/** With the libraries of the real programs: test/protocol/client/main.go names them. */
let client: string | undefined;

beforeAll(() => {
  client = buildClient();
  installMissing([['/usr/sbin/haproxy', 'haproxy']]);
});

beforeEach(({ skip }) => {
  if (client === undefined) skip("Go's module proxy cannot be reached");
});

const execute = promisify(execFile);

/** What the client prints, by lines. */
async function run(verb: string, url: string): Promise<string[]> {
  const { stdout } = await execute(client ?? '', [verb, url]);
  return stdout.trim().split('\n');
}

test('the WebSocket check of a deploy agrees with gorilla/websocket 1.5.1, by which json-rpc serves', async () => {
  const server = spawn(client ?? '', ['serve', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void server.kill());
  const [address] = await new Promise<string[]>((resolve) =>
    createInterface(server.stdout).once('line', (line) => resolve([line])),
  );
  const port = Number(address?.split(':').at(-1));
  expect(await askWebSocket(localHost(), port, 10)).toEqual({ ok: true, value: '0x10' });
});

describe("go-ethereum's RPC client behind a gateway", () => {
  let host: RpcHost;
  let gateway: Gateway;
  const http = `http://127.0.0.1:${ports.http}`;
  const webSocket = `ws://127.0.0.1:${ports.websocket}`;

  beforeEach(async () => {
    host = rpcHost('rpc-1', '127.0.7.1', rpcPorts);
    await host.start();
    const keys = { alice: { key: 'env:PROTOCOL_KEY' } };
    process.env.PROTOCOL_KEY = randomBytes(20).toString('hex');
    const context = await gatewayContext({ 'rpc-1': { address: '127.0.7.1' } }, { key_required: true, keys });
    gateway = await startGateway(context);
  });
  afterEach(async () => {
    await gateway?.kill();
    await host?.kill();
  });
  const keyed = (url: string) => `${url}/${process.env.PROTOCOL_KEY}`;

  test.each([
    ['HTTP', http],
    ['WebSocket', webSocket],
  ])('it calls several times on one connection by %s', async (_, url) => {
    expect(await run('call', keyed(url))).toEqual(['0x3e8', '0x3e8', '0x3e8']);
  });

  test.each([
    ['HTTP', http],
    ['WebSocket', webSocket],
  ])('it sends a batch by %s', async (_, url) => {
    const [first, second, third] = await run('batch', keyed(url));
    expect([first, second]).toEqual(['0x3e8', '0x3e8']);
    // The RPC host of the test answers with an object, and the client wants a text.
    expect(third).toMatch(/^error: json: cannot unmarshal object/);
  });

  test('it shows the words of a refusal', async () => {
    await expect(run('call', http)).rejects.toThrow(/401 Unauthorized.*-32001/s);
    await expect(run('call', webSocket)).rejects.toThrow(/bad handshake.*401/s);
  });
});

describe('pgx v4, by which the node reaches its databases', () => {
  let postgres: Postgres;
  const folder = mkdtempSync(join(tmpdir(), 'protocol-'));
  /** No other server of this machine listens there. */
  const address = '127.0.9.5';

  beforeAll(async () => {
    installMissing([
      ['/usr/lib/postgresql/15/bin/postgres', 'postgresql-15'],
      ['/usr/bin/openssl', 'openssl'],
    ]);
    chmodSync(folder, 0o755);
    const [key, certificate, rules] = ['key.pem', 'cert.pem', 'pg_hba.conf'].map((name) =>
      join(folder, name),
    );
    if (!key || !certificate || !rules) throw new Error('no names');
    const subject = ['-subj', '/CN=state-db', '-addext', 'subjectAltName=IP:127.0.9.5'];
    const made = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      ...subject,
    ];
    execFileSync('openssl', [...made, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const postgresUser = Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }));
    chownSync(key, postgresUser, postgresUser);
    // A container of this host may come in plain text, another host may not.
    const lines = [
      'local all all trust',
      'hostssl all tls_user 127.0.0.0/8 scram-sha-256',
      'host all plain_user 127.0.0.0/8 scram-sha-256',
    ];
    writeFileSync(rules, `${lines.join('\n')}\n`, { mode: 0o644 });
    postgres = await startPostgres(folder, {
      listen_addresses: address,
      ssl: 'on',
      ssl_cert_file: certificate,
      ssl_key_file: key,
      hba_file: rules,
    });
    for (const user of ['tls_user', 'plain_user'])
      postgres.sql('postgres', `CREATE ROLE ${user} LOGIN PASSWORD 'a-b.c_d~e'`);
  });
  afterAll(async () => {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The node writes `postgres://USER:PASSWORD@HOST:PORT/NAME`, without a word on TLS. */
  const url = (user: string, more = '') =>
    `postgres://${user}:a-b.c_d~e@${address}:${postgres.port}/postgres${more}`;

  test('it encrypts by itself where the server offers TLS, and needs not be told', async () => {
    expect(await run('query', url('tls_user'))).toEqual(['tls_user, encrypted: true']);
    expect(await run('query', url('plain_user'))).toEqual(['plain_user, encrypted: true']);
  });

  test('it works in plain text, where the rules of the server allow that', async () => {
    expect(await run('query', url('plain_user', '?sslmode=disable'))).toEqual([
      'plain_user, encrypted: false',
    ]);
    await expect(run('query', url('tls_user', '?sslmode=disable'))).rejects.toThrow(/no encryption/);
  });

  test("libpq, to which the prover's libpqxx gives its connection string, does the same", () => {
    const sql = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';
    // The scheme of databaseURL in the prover's configuration.
    const asked = url('tls_user').replace('postgres:', 'postgresql:');
    expect(execFileSync('psql', ['-XAtc', sql, asked], { encoding: 'utf8' })).toBe('t\n');
  });
});
