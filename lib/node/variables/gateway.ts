import * as z from 'zod';
import {
  addressSchema,
  matching,
  portSchema as port,
  secretReferenceSchema,
  secretTextSchema,
} from '../../engine/inventory/schema.ts';
import { secretReferenceKinds } from '../../engine/inventory/secret-reference.ts';
import { parseIpNetwork } from '../../engine/resource/network/ip-network.ts';
import { didYouMean } from '../../engine/text/suggest.ts';
import { acme, domainOf } from './acme.ts';
import * as types from './value-types.ts';

/** A host name or an address, or the names of a domain (RFC 6125, section 6.4.3). */
const clientName = z
  .string()
  .check(({ value, issues }) => {
    for (const { message } of addressSchema.safeParse(domainOf(value)).error?.issues ?? [])
      issues.push({ code: 'custom', input: value, message });
  })
  .meta({ title: 'host name or IP address' });

/** The certificate for clients: a file with its key, or one by ACME. */
const tls = z.strictObject({
  certificate: z
    .string()
    .min(1)
    .optional()
    .meta({ title: 'path' })
    .describe(
      'File with the certificate and those of its issuers, in PEM, relative to the file that names it',
    ),
  key: secretReferenceSchema.optional().describe(`Where its private key is, in PEM: ${secretReferenceKinds}`),
  acme: acme
    .optional()
    .describe(
      'In place of certificate and key: certbot on each gateway gets a certificate by ACME, and renews it',
    ),
  names: z
    .array(clientName)
    .min(1)
    .describe(
      'Names by which clients reach the gateways: the certificate has to have them. *.example.com is all names of that domain',
    ),
});

const shared = z.strictObject({
  address: z
    .string()
    .refine(
      (text) => /\/\d+$/.test(text) && parseIpNetwork(text) !== undefined,
      'must be an address with its network, such as 10.0.0.9/24',
    )
    .meta({ title: 'IP address and network' })
    .describe('Address that one of the gateways has at a time, with the length of its network'),
  interface: matching(
    /^[A-Za-z0-9][\w.-]{0,14}$/,
    'must be the name of a network interface',
    'interface',
  ).describe('Network interface of the address'),
});

const clients = z.strictObject({
  connections: types.count.default(1000).describe('Most connections of one client at a time'),
  requests: types
    .whole(1, 1_000_000)
    .default(10_000)
    .describe(
      'Most requests of one client in a second at one gateway: each one in a batch and in a WebSocket counts',
    ),
  batch: types
    .whole(1, 1_000_000)
    .default(10_000)
    .describe(
      'Most requests in one batch. `body` ends a batch sooner: by default at some 3000 short requests',
    ),
  body: types
    .whole(220_000, 5_000_000)
    .default(220_000)
    .describe(
      'Most bytes of a request by HTTP, or of a message by WebSocket. Each is judged whole, so more takes memory and processor time',
    ),
});

const trusted = z.strictObject({
  addresses: types.ipNetworks
    .min(1)
    .describe('Addresses and networks of your load balancer or CDN, from which connections come'),
  client_in: z
    .enum(['PROXY', 'X-Forwarded-For', 'CF-Connecting-IP', 'True-Client-IP', 'X-Real-IP'])
    .describe('Where they name the client: PROXY is the PROXY protocol, the others are headers'),
});

const method = matching(
  /^[A-Za-z0-9_*]{1,64}$/,
  'must be the name of a method, such as eth_call or debug_*, in which * stands for any characters',
  'method',
);

const allow = z.array(method).min(1).optional();
const deny = z.array(method);

/** HAProxy counts up to 100 things of a client. */
const mostLimits = 50;

const methods = z.strictObject({
  allow: allow.describe('Methods that clients may use; default: all that the node offers'),
  deny: deny.default([]).describe('Methods that clients may not use, also of those in `allow`'),
  limits: z
    .record(method, types.whole(1, 1_000_000))
    .refine((limits) => Object.keys(limits).length <= mostLimits, `may have at most ${mostLimits} methods`)
    .default({})
    .describe(
      'Most requests of one client in a second, by method: those of a name with * are counted together',
    ),
  heavy: z
    .array(method)
    .default([])
    .describe('Methods for the RPC servers with `methods: heavy`, which get no others'),
});

const key = z.strictObject({
  key: secretReferenceSchema.describe(`Where the key is: ${secretReferenceKinds}`),
  requests: types
    .whole(1, 1_000_000)
    .optional()
    .describe('Most requests with this key in a second; default: `clients.requests`'),
  batch: types
    .whole(1, 1_000_000)
    .optional()
    .describe('Most requests in one batch; default: `clients.batch`'),
  methods: z
    .strictObject({
      allow: allow.describe('In place of `methods.allow`'),
      deny: deny.optional().describe('In place of `methods.deny`'),
    })
    .optional()
    .describe('Methods of this key; default: those of all clients'),
});

/** HAProxy's table of keys has room for more. */
const mostKeys = 10_000;

/** Variables of the hosts in group `gateway`. */
export const gatewaySchema = {
  http: port.default(8123).describe('TCP port for JSON-RPC over HTTP, on the gateways'),
  websocket: port.default(8133).describe('TCP port for JSON-RPC over WebSocket, on the gateways'),
  metrics: port
    .default(9101)
    .describe(
      'TCP port of metrics (/metrics) and of who may serve (/fleet), for the hosts and `firewall.metrics`',
    ),
  peers: port.default(8143).describe('TCP port by which gateways exchange which host a client had'),
  most_behind: types
    .whole(1, 100_000)
    .default(5)
    .describe('Blocks that an RPC host may be behind the best one before it no longer serves'),
  clients: clients.prefault({}).describe('Limits of each client: an IPv4 address, or an IPv6 /64'),
  trusted: trusted
    .optional()
    .describe(
      'Who may say which client a connection or request is from; default: nobody, so a client is its TCP address',
    ),
  methods: methods.prefault({}).describe('Methods that clients may use'),
  keys: z
    .record(matching(/^[A-Za-z0-9][\w.-]{0,62}$/, 'must be a name of letters, digits and _ . -', 'name'), key)
    .refine((keys) => Object.keys(keys).length <= mostKeys, `may have at most ${mostKeys} keys`)
    .default({})
    .describe('API keys by the names of those who have them; default: none'),
  key_required: z
    .boolean()
    .default(false)
    .describe('Whether clients without a key are refused, where there are keys'),
  fallback: secretTextSchema
    .optional()
    .describe(
      `Web address of a provider, which answers requests by HTTP while no RPC server may. Its key is a {{ secret:NAME }} in it, or the whole address is a secret: ${secretReferenceKinds}; default: none`,
    ),
  least_serving: types
    .whole(0, 99_999)
    .optional()
    .describe('Fewest RPC servers that serve while one is out; default: 1'),
  drain_seconds: types
    .whole(0, 3600)
    .default(30)
    .describe('Seconds for connections to end before a server is changed'),
  healthy_seconds: types
    .whole(0, 3600)
    .default(5)
    .describe('Seconds that a changed server is well before it serves'),
  rollback: z
    .enum(['none', 'auto'])
    .default('none')
    .describe('auto: a server gets its release back if its turn fails'),
  shared: shared
    .optional()
    .describe('An address that moves from a dead gateway to another one, by keepalived (VRRP)'),
  tls: tls.optional().describe('TLS for clients; default: none'),
};

/** Where the value of a key of the version before is now. */
const moved = new Map([
  ['client_requests', 'clients.requests'],
  ['client_connections', 'clients.connections'],
  ['batch_requests', 'clients.batch'],
]);

/**
 * What the operator reads about unknown keys: one hint in each line, for keys of the version before
 * the new place.
 */
export function movedGatewayKeys(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code !== 'unrecognized_keys' || !issue.keys.some((key) => moved.has(key))) return undefined;
  const hint = (key: string) => {
    const now = moved.get(key);
    return now === undefined ? didYouMean(key, Object.keys(gatewaySchema)) : `it is gateway.${now} now`;
  };
  return issue.keys.map(hint).join('\n');
}
