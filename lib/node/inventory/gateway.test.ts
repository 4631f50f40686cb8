import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Problems } from '../../engine/problem/problem.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { loadDeployment } from './inventory.ts';

const gateways: Changes = [
  [['groups', 'gateway'], { 'gw-1': { address: '10.0.0.1' }, 'gw-2': { address: '10.0.0.2' } }],
];

/** `LINE:COLUMN message (hint)` of each problem, without the folder of the inventory. */
async function problemsOf(changes: Changes): Promise<string[]> {
  const loading = loadDeployment(await labDeployment([...gateways, ...changes]));
  const error: unknown = await loading.then(
    () => new Problems([]),
    (reason: unknown) => reason,
  );
  if (!(error instanceof Problems)) throw error;
  return error.problems.map(({ message, where, hint }) => {
    expect(where?.line).toBeGreaterThan(0);
    expect(where?.column).toBeGreaterThan(0);
    return hint === undefined ? message : `${message} (${hint})`;
  });
}

beforeAll(() => {
  process.env.DNS_TOKEN = 'dop_v1-token';
  process.env.DNS_SECRET = 'c2VjcmV0LW9mLXRoZS1rZXk=';
  process.env.DNS_LINES = 'token, with "marks"';
  process.env.DNS_USER = '{"type": "authorized_user"}';
  process.env.DNS_PART = '{"type": "service_account", "project_id": "p"}';
  process.env.GATEWAY_KEY = 'k'.repeat(32);
  process.env.GATEWAY_PROVIDER = `https://rpc.provider.example/v2/${'k'.repeat(32)}?x=${'k'.repeat(32)}`;
  process.env.GATEWAY_PORT = 'https://rpc.provider.example:99999/';
  process.env.GATEWAY_CIRCLE = 'http://10.0.0.2:8123/';
  process.env.GATEWAY_NAME = 'https://rpc.b.example/';
  process.env.GATEWAY_SHARED = 'http://10.0.0.9:8123/';
  process.env.GATEWAY_SHORT = 'k'.repeat(19);
  process.env.GATEWAY_OTHER = `${'k'.repeat(32)}?`;
});

test('gateways need no database and no prover of their own', async () => {
  expect(await problemsOf([])).toEqual([]);
  const { hosts } = await loadDeployment(await labDeployment(gateways));
  expect(hosts.filter(({ groups }) => groups.includes('gateway')).map(({ name }) => name)).toEqual([
    'gw-1',
    'gw-2',
  ]);
});

test.each([
  ['as a whole', 'env:GATEWAY_PROVIDER'],
  ['for its key', 'https://rpc.provider.example/v2/{{ env:GATEWAY_KEY }}?x={{env:GATEWAY_KEY}}'],
])('the address of the fallback may be a secret, %s', async (_, fallback) => {
  const file = await labDeployment([...gateways, [['vars', 'gateway'], { fallback }]]);
  const { hosts } = await loadDeployment(file);
  const address = hosts.find(({ name }) => name === 'gw-1')?.vars.gateway.fallback;
  const key = 'k'.repeat(32);
  expect(address?.reveal()).toBe(`https://rpc.provider.example/v2/${key}?x=${key}`);
  expect(String(address)).toBe('[secret]');
});

const asRpcHost: Changes = [
  [['groups', 'gateway', 'rpc-1'], null],
  [['groups', 'rpc', 'rpc-1', 'vars'], { gateway: { http: 80, websocket: 81 } }],
];

test('on a test network an RPC host may be a gateway with other ports, and on the main network not', async () => {
  expect(await problemsOf(asRpcHost)).toEqual([]);
  expect(await problemsOf([...asRpcHost, [['vars', 'network', 'kind'], 'main']])).toContain(
    'rpc-1 is in the groups rpc and gateway: on the main network JSON-RPC and gateways have servers of their own (one server for several of them is for a test network)',
  );
});

test.each<[string, Changes, string[]]>([
  [
    'no RPC host',
    [[['groups', 'rpc'], {}]],
    ['group rpc has no host (name one or more servers for JSON-RPC)'],
  ],
  [
    'the address of an RPC host',
    [[['groups', 'gateway', 'gw-1', 'address'], '172.30.77.12']],
    ['gw-1 has the same address as rpc-1: 172.30.77.12 port 22 (each host is named once)'],
  ],
  [
    'the name of an RPC host',
    [[['groups', 'gateway', 'rpc-1'], { address: '10.0.0.3' }]],
    [
      'host rpc-1 is defined a second time; the first is in group rpc (for the same host in both groups, write only rpc-1: here)',
    ],
  ],
  [
    'settings on another host',
    [[['groups', 'rpc', 'rpc-1', 'vars'], { gateway: { most_behind: 2 } }]],
    [
      'gateway of rpc-1 has no use: it is no gateway (name it in the vars of all hosts, or of the hosts in group gateway)',
    ],
  ],
  [
    'a minimum that the fleet cannot keep',
    [[['vars', 'gateway'], { least_serving: 2 }]],
    [
      'gateway.least_serving is 2, and of 2 RPC servers 1 serve while one is changed (at most 1, or add RPC servers)',
    ],
  ],
  [
    'a minimum that the usual servers of the fleet cannot keep',
    [
      [['groups', 'rpc', 'rpc-2', 'vars'], { methods: 'heavy' }],
      [['vars', 'gateway'], { least_serving: 1, methods: { heavy: ['debug_*'] } }],
    ],
    [
      'gateway.least_serving is 1, and of 1 RPC servers for usual methods 0 serve while one is changed (at most 0, or add RPC servers)',
    ],
  ],
  [
    'an RPC host that is a gateway with the same ports',
    [[['groups', 'gateway', 'rpc-1'], null]],
    ['gateway.http is 8123, as ports.rpc_http is', 'gateway.websocket is 8133, as ports.rpc_websocket is'],
  ],
  [
    'ports of ACME',
    [
      [
        ['vars', 'gateway'],
        { http: 80, peers: 8402, tls: { acme: { email: 'a@b.example' }, names: ['b.example'] } },
      ],
    ],
    [
      'gateway.http is 80, where challenges of the ACME server arrive',
      'gateway.peers is 8402, where certbot listens',
    ],
  ],
  [
    'trust in everybody',
    [[['vars', 'gateway'], { trusted: { addresses: ['10.0.0.0/8', '::/0'], client_in: 'PROXY' } }]],
    [
      'gateway.trusted.addresses has ::/0: everybody there could be any client (name the addresses of your load balancer or CDN alone)',
    ],
  ],
  [
    'a trusted name',
    [[['vars', 'gateway'], { trusted: { addresses: ['lb.example'], client_in: 'X-Forwarded-For' } }]],
    ['gateway.trusted.addresses.0 must be an IP address, or a network such as 10.0.0.0/8'],
  ],
  [
    'trust in a header that no proxy writes',
    [[['vars', 'gateway'], { trusted: { addresses: ['10.0.0.9'], client_in: 'X-Client' } }]],
    [
      'gateway.trusted.client_in must be one of PROXY, X-Forwarded-For, CF-Connecting-IP, True-Client-IP, X-Real-IP',
    ],
  ],
  [
    'heavy methods without a server for them',
    [[['vars', 'gateway'], { methods: { heavy: ['debug_*'] } }]],
    [
      'gateway.methods.heavy has no use: no RPC server is for them (give one of them methods: heavy, or leave it out)',
    ],
  ],
  [
    'a server for heavy methods without any',
    [[['groups', 'rpc', 'rpc-2', 'vars'], { methods: 'heavy' }]],
    [
      'rpc-2 would get no request: gateway.methods.heavy names no method (name methods in gateway.methods.heavy, such as debug_*, or leave out methods: heavy)',
    ],
  ],
  [
    'servers for heavy methods alone',
    [
      [['vars', 'methods'], 'heavy'],
      [['vars', 'gateway'], { methods: { heavy: ['debug_*'] } }],
    ],
    ['no RPC server is left for methods that are not heavy (add one)'],
  ],
  [
    'heavy methods for a gateway',
    [[['groups', 'gateway', 'gw-1', 'vars'], { methods: 'heavy' }]],
    ['methods of gw-1 has no use: it is no RPC server (give it to hosts in group rpc)'],
  ],
  [
    'a method that has other characters',
    [[['vars', 'gateway'], { methods: { deny: ['eth call'] } }]],
    [
      'gateway.methods.deny.0 must be the name of a method, such as eth_call or debug_*, in which * stands for any characters',
    ],
  ],
  [
    'a required key without keys',
    [[['vars', 'gateway'], { key_required: true }]],
    ['gateway.key_required lets nobody in: there is no key (name keys in gateway.keys, or leave it out)'],
  ],
  [
    'keys that are short, equal, of other characters or not there',
    [
      [
        ['vars', 'gateway'],
        {
          keys: {
            a: { key: 'env:GATEWAY_KEY' },
            b: { key: 'env:GATEWAY_KEY' },
            c: { key: 'env:GATEWAY_SHORT' },
            d: { key: 'env:GATEWAY_OTHER' },
            e: { key: 'env:GATEWAY_NONE' },
          },
        },
      ],
    ],
    [
      expect.stringContaining('gateway.keys.b.key is that of a, too'),
      'gateway.keys.c.key (from environment variable GATEWAY_SHORT) is too short: at least 20 characters (make one: openssl rand -hex 32)',
      expect.stringMatching(
        /^gateway\.keys\.d\.key \(from environment variable GATEWAY_OTHER\) has a character that is not allowed: .* \(make one: openssl rand -hex 32\)$/,
      ),
      expect.stringContaining('GATEWAY_NONE'),
    ],
  ],
  [
    'keys of the version before, and one that never was',
    [[['vars', 'gateway'], { client_requests: 100, client_connections: 10, batch_requests: 5, request: 1 }]],
    [
      'unknown key gateway.client_requests (it is gateway.clients.requests now)',
      'unknown key gateway.client_connections (it is gateway.clients.connections now)',
      'unknown key gateway.batch_requests (it is gateway.clients.batch now)',
      expect.stringContaining('unknown key gateway.request (known: '),
    ],
  ],
  [
    'a key whose owner has no name',
    [[['vars', 'gateway'], { keys: { 'a b': { key: 'env:GATEWAY_KEY' } } }]],
    [expect.stringContaining(' must be a name of letters, digits and _ . -')],
  ],
  [
    'a fallback that is no web address',
    [[['vars', 'gateway'], { fallback: 'env:GATEWAY_KEY' }]],
    [
      'gateway.fallback (from environment variable GATEWAY_KEY) has a character that is not allowed: it is a web address (http:// or https://) without a user name (the address that the provider gives you, such as https://rpc.provider.example/v2/KEY)',
    ],
  ],
  [
    'a fallback without a secret',
    [[['vars', 'gateway'], { fallback: 'https://rpc.provider.example/v2/KEY' }]],
    [
      'gateway.fallback must be a reference, env:NAME, file:PATH, secret:NAME or cmd:COMMAND, or have one in it, such as {{ secret:NAME }}: a secret is never in an inventory',
    ],
  ],
  [
    'a fallback with a secret in it that is no web address',
    [[['vars', 'gateway'], { fallback: 'rpc.provider.example/{{ env:GATEWAY_KEY }}' }]],
    [
      'gateway.fallback (from rpc.provider.example/{{ env:GATEWAY_KEY }}) has a character that is not allowed: it is a web address (http:// or https://) without a user name (the address that the provider gives you, such as https://rpc.provider.example/v2/KEY)',
    ],
  ],
  [
    'a fallback at a port that does not exist',
    [[['vars', 'gateway'], { fallback: 'env:GATEWAY_PORT' }]],
    [
      'gateway.fallback is no web address (the address that the provider gives you, such as https://rpc.provider.example/v2/KEY)',
    ],
  ],
  [
    'a fallback that is a gateway of the inventory',
    [[['vars', 'gateway'], { fallback: 'env:GATEWAY_CIRCLE' }]],
    [
      'gateway.fallback is gw-2 of this inventory, which cannot answer in place of itself (the address that the provider gives you, such as https://rpc.provider.example/v2/KEY)',
    ],
  ],
  [
    'a fallback that is one of all names of the gateways',
    [
      [
        ['vars', 'gateway'],
        {
          fallback: 'env:GATEWAY_NAME',
          tls: {
            acme: { email: 'a@b.example', dns: { linode: { key: 'env:DNS_TOKEN' } } },
            names: ['*.b.example'],
          },
        },
      ],
    ],
    [
      'gateway.fallback is an address of these gateways, which cannot answer in place of itself (the address that the provider gives you, such as https://rpc.provider.example/v2/KEY)',
    ],
  ],
  [
    'a fallback that is the address of the gateways',
    [
      [
        ['vars', 'gateway'],
        { fallback: 'env:GATEWAY_SHARED', shared: { address: '10.0.0.9/24', interface: 'eth0' } },
      ],
    ],
    [
      'gateway.fallback is an address of these gateways, which cannot answer in place of itself (the address that the provider gives you, such as https://rpc.provider.example/v2/KEY)',
    ],
  ],
  [
    'methods of which none is left',
    [[['vars', 'gateway', 'methods'], { allow: ['eth_call', 'eth_get*'], deny: ['ETH_*'] }]],
    ['gateway.methods offers nothing: deny has all that allow has (leave out of deny what clients may use)'],
  ],
  [
    'a method with two limits',
    [[['vars', 'gateway', 'methods'], { limits: { eth_getLogs: 50, ETH_getlogs: 5 } }]],
    [
      'gateway.methods.limits has ETH_getlogs twice, also as eth_getLogs: names match in any case (keep one of them)',
    ],
  ],
  [
    'an address by ACME',
    [[['vars', 'gateway'], { tls: { acme: { email: 'a@b.example' }, names: ['b.example', '10.0.0.9'] } }]],
    ['gateway.tls.names: 10.0.0.9 is an address, and certbot gets certificates for names alone'],
  ],
  [
    'a name twice',
    [[['vars', 'gateway'], { tls: { acme: { email: 'a@b.example' }, names: ['b.example', 'B.example'] } }]],
    ['gateway.tls.names has B.example twice'],
  ],
  [
    'a name among all names of its domain',
    [
      [
        ['vars', 'gateway'],
        { tls: { acme: { email: 'a@b.example' }, names: ['*.b.example', 'a.b.example'] } },
      ],
    ],
    [
      "gateway.tls.names: a.b.example is among the names of *.b.example, and Let's Encrypt refuses to certify both (leave out the single name)",
    ],
  ],
  [
    'all names of a domain without the DNS',
    [[['vars', 'gateway'], { tls: { acme: { email: 'a@b.example' }, names: ['*.b.example'] } }]],
    [
      'gateway.tls.names: *.b.example is all names of a domain, for which an ACME server asks the DNS alone (name in gateway.tls.acme.dns who has the domain, or name each of the names)',
    ],
  ],
  ...(
    [
      [
        { godaddy: { token: 'env:DNS_TOKEN' } },
        'unknown key gateway.tls.acme.dns.godaddy (known are rfc2136, cloudflare, route53, google, digitalocean, ovh, linode, dnsimple, gehirn, sakuracloud)',
      ],
      [
        { propagation_seconds: 9 },
        'gateway.tls.acme.dns has nobody, and needs one who has the domain (one of rfc2136, cloudflare, route53, google, digitalocean, ovh, linode, dnsimple, gehirn, sakuracloud)',
      ],
      [
        { linode: { key: 'env:DNS_TOKEN' }, dnsimple: { token: 'env:DNS_TOKEN' } },
        'gateway.tls.acme.dns has linode and dnsimple, and needs one who has the domain (one of rfc2136, cloudflare, route53, google, digitalocean, ovh, linode, dnsimple, gehirn, sakuracloud)',
      ],
      [
        { route53: { access_key: 'env:DNS_TOKEN', secret_key: 'env:DNS_TOKEN' }, propagation_seconds: 9 },
        'gateway.tls.acme.dns.propagation_seconds has no use: Route 53 says itself when it is ready (leave it out)',
      ],
      [
        { rfc2136: { server: 'ns.b.example', name: 'acme.', secret: 'env:DNS_SECRET' } },
        'gateway.tls.acme.dns.rfc2136.server must be an IP address: certbot takes no name here',
      ],
      [
        { rfc2136: { server: '192.0.2.53', name: 'acme key', secret: 'env:DNS_SECRET' } },
        'gateway.tls.acme.dns.rfc2136.name must be the name of a key, such as acme.',
      ],
      [
        { rfc2136: { server: '192.0.2.53', name: 'acme.', secret: 'env:DNS_TOKEN' } },
        'gateway.tls.acme.dns.rfc2136.secret (from environment variable DNS_TOKEN) has a character that is not allowed: it is base64 (copy what tsig-keygen prints as secret, without its quotes)',
      ],
      [
        { cloudflare: { api_token: 'env:DNS_LINES' } },
        'gateway.tls.acme.dns.cloudflare.api_token (from environment variable DNS_LINES) has a character that is not allowed: only A-Z a-z 0-9 + / = _ . ~ - are in a key or a token (copy it again as the provider shows it)',
      ],
      [
        { google: { account: `cmd:printf 'a\\0b'` } },
        "gateway.tls.acme.dns.google.account (from the command printf 'a\\0b') has a character that is not allowed: it is JSON (make a key of type JSON for the service account, and take its file as it is)",
      ],
      [
        { google: { account: 'env:DNS_TOKEN' } },
        'gateway.tls.acme.dns.google.account is not JSON (make a key of type JSON for the service account, and take its file as it is)',
      ],
      [
        { google: { account: 'env:DNS_USER' } },
        'gateway.tls.acme.dns.google.account is not of a service account (make a key of type JSON for the service account, and take its file as it is)',
      ],
      [
        { google: { account: 'env:DNS_PART' } },
        'gateway.tls.acme.dns.google.account has no private_key_id, private_key, client_email, client_id (make a key of type JSON for the service account, and take its file as it is)',
      ],
    ] as const
  ).map(([dns, problem]): [string, Changes, string[]] => [
    `access to the DNS: ${problem.slice(0, 60)}`,
    [[['vars', 'gateway'], { tls: { acme: { email: 'a@b.example', dns }, names: ['*.b.example'] } }]],
    [problem],
  ]),
  [
    'a contact that is no address',
    [[['vars', 'gateway'], { tls: { acme: { email: 'ops' }, names: ['b.example'] } }]],
    ['gateway.tls.acme.email must be an email address'],
  ],
  ...(
    [
      [{}, 'no certificate'],
      [{ certificate: 'a.pem' }, 'certificate'],
      [{ key: 'env:KEY' }, 'key'],
      [{ certificate: 'a.pem', acme: { email: 'a@b.example' } }, 'certificate and acme'],
    ] as const
  ).map(([tls, has]): [string, Changes, string[]] => [
    `TLS with ${has}`,
    [[['vars', 'gateway'], { tls: { ...tls, names: ['b.example'] } }]],
    [`gateway.tls has ${has}, and needs either certificate and key, or acme`],
  ]),
  ['the port of SSH', [[['vars', 'gateway'], { http: 22 }]], ['gateway.http is 22, where SSH listens']],
  [
    'equal ports',
    [[['vars', 'gateway'], { metrics: 8123 }]],
    ['gateway.metrics is 8123, as gateway.http is'],
  ],
  [
    'a shared address for one gateway',
    [
      [['groups', 'gateway', 'gw-2'], undefined],
      [['vars', 'gateway'], { shared: { address: '10.0.0.9/24', interface: 'eth0' } }],
    ],
    [
      'gateway.shared has no use: gw-1 is the only gateway (leave it out, or name another host in group gateway)',
    ],
  ],
  [
    'a shared address without its network',
    [[['vars', 'gateway'], { shared: { address: '10.0.0.9', interface: 'eth0' } }]],
    ['gateway.shared.address must be an address with its network, such as 10.0.0.9/24'],
  ],
  [
    'a shared address on no interface',
    [[['vars', 'gateway'], { shared: { address: '10.0.0.9/24', interface: 'eth 0' } }]],
    ['gateway.shared.interface must be the name of a network interface'],
  ],
  [
    'another shared address',
    [
      [['vars', 'gateway'], { shared: { address: '10.0.0.9/24', interface: 'eth0' } }],
      [
        ['groups', 'gateway', 'gw-2', 'vars'],
        { gateway: { shared: { address: '10.0.0.8/24', interface: 'eth0' } } },
      ],
    ],
    ['gateway.shared of gw-2 differs from that of gw-1, which shares the address'],
  ],
  [
    'the address of a host as the shared one',
    [[['vars', 'gateway'], { shared: { address: '10.0.0.1/24', interface: 'eth0' } }]],
    [
      'gateway.shared.address 10.0.0.1/24 is the address of gw-1 (the gateways share an address that no host has)',
    ],
  ],
])('refused: %s', async (_, changes, problems) => {
  expect(await problemsOf(changes)).toEqual(problems);
});

describe.skipIf(!existsSync('/usr/bin/openssl'))('certificates', () => {
  let folder: string;
  const path = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const make = (name: string, days: string[]) =>
    openssl(
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-subj',
        '/CN=rpc.example',
      ],
      ...['-addext', 'subjectAltName=DNS:rpc.example,DNS:*.rpc.example,IP:10.0.0.9'],
      ...['-keyout', `${name}.key`, '-out', `${name}.pem`, ...days],
    );

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'certificates-'));
    make('good', ['-days', '30']);
    make('other', ['-days', '30']);
    // A time in the past is a negative number of days for openssl req -x509.
    openssl('req', '-new', '-key', 'good.key', '-subj', '/CN=rpc.example', '-out', 'old.csr');
    openssl('x509', '-req', '-in', 'old.csr', '-signkey', 'good.key', '-days', '-1', '-out', 'old.pem');
    for (const name of ['good.key', 'other.key']) chmodSync(path(name), 0o600);
    writeFileSync(path('text.pem'), 'no certificate');
    writeFileSync(path('text.key'), 'text.Pw~1', { mode: 0o600 });
    writeFileSync(path('binary.key'), 'no\0key', { mode: 0o600 });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const tls = (certificate: string, key: string, names = ['rpc.example']): Changes => [
    [['vars', 'gateway'], { tls: { certificate: path(certificate), key: `file:${path(key)}`, names } }],
  ];

  test('a certificate with its key and names is taken, for the gateways alone', async () => {
    const inventory = await labDeployment([
      ...gateways,
      ...tls('good.pem', 'good.key', ['rpc.example', '*.rpc.example', '10.0.0.9']),
    ]);
    const { hosts } = await loadDeployment(inventory);
    const has = hosts.map(({ name, vars: { gateway } }) => {
      const given = gateway.tls && 'key' in gateway.tls ? gateway.tls : undefined;
      return [name, given?.certificate.includes('BEGIN CERTIFICATE')];
    });
    expect(Object.fromEntries(has)).toEqual({
      'db-1': undefined,
      'rpc-1': undefined,
      'rpc-2': undefined,
      'gw-1': true,
      'gw-2': true,
    });
    expect(JSON.stringify(hosts)).not.toContain('PRIVATE KEY');
  });

  test.each([
    [
      'all names of another domain',
      'good.pem',
      'good.key',
      ['*.example'],
      /^gateway\.tls\.names: .*good\.pem is not for \*\.example \(the certificate is for DNS:rpc\.example, DNS:\*\.rpc\.example/,
    ],
    [
      'another key',
      'good.pem',
      'other.key',
      undefined,
      /^gateway\.tls\.key is not the private key of .*good\.pem \(name the key with which the certificate was requested\)$/,
    ],
    [
      'a binary key',
      'good.pem',
      'binary.key',
      undefined,
      /^gateway\.tls\.key \(from .*binary\.key\) has a character that is not allowed: it is text in PEM/,
    ],
    [
      'no key',
      'good.pem',
      'text.key',
      undefined,
      /^gateway\.tls\.key is not a private key in PEM without a passphrase \(remove a passphrase: openssl/,
    ],
    [
      'another name',
      'good.pem',
      'good.key',
      ['rpc.other'],
      /^gateway\.tls\.names: .*good\.pem is not for rpc\.other \(the certificate is for DNS:rpc\.example, DNS:\*\.rpc\.example, IP Address:10\.0\.0\.9\)$/,
    ],
    [
      'expired',
      'old.pem',
      'good.key',
      undefined,
      /^gateway\.tls\.certificate: .*old\.pem has expired: it was valid until .* \(renew it\)$/,
    ],
    [
      'no certificate',
      'text.pem',
      'good.key',
      undefined,
      /^gateway\.tls\.certificate: .*text\.pem is not a certificate in PEM$/,
    ],
    [
      'a missing file',
      'none.pem',
      'good.key',
      undefined,
      /^gateway\.tls\.certificate: .*none\.pem does not exist \(the path is relative to the file that names it\)$/,
    ],
  ])('refused: %s', async (_, certificate, key, names, problem) => {
    expect(await problemsOf(tls(certificate, key, names))).toEqual([expect.stringMatching(problem)]);
  });
});
