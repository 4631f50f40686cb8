import { isIP } from 'node:net';
import * as z from 'zod';
import { matching, secretReferenceSchema } from '../../engine/inventory/schema.ts';
import { secretReferenceKinds } from '../../engine/inventory/secret-reference.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import * as types from './value-types.ts';

/** Where an ACME server asks for the answer to its challenge (RFC 8555, section 8.3). */
export const challengePort = 80;

/** The domain of `*.example.com`; any other name as it is. */
export const domainOf = (name: string) => name.replace(/^\*\./, '');

/** Whether `*.example.com` has a name, in the same case. */
export const isOfDomain = (name: string, all: string): boolean =>
  name !== all && name.replace(/^[^.]+/, '*') === all;

const secret = (what: string) => secretReferenceSchema.describe(`Where ${what} is: ${secretReferenceKinds}`);

const keyName = matching(/^[A-Za-z0-9][\w.-]*$/, 'must be the name of a key, such as acme.', 'name');

/** As certbot's plugin names them (certbot-dns-rfc2136 2.1). */
const algorithms = ['HMAC-SHA224', 'HMAC-SHA256', 'HMAC-SHA384', 'HMAC-SHA512', 'HMAC-SHA1', 'HMAC-MD5'];

/**
 * Who has the domain, by the names of certbot's plugins; below each, what its file of credentials
 * takes, by the plugin's own names. The plugins' sources say it (Debian 12: 2.0 and 2.1); those of
 * route53 and google are the files of Amazon and Google.
 */
const plugins = {
  rfc2136: z
    .strictObject({
      server: z
        .string()
        .refine((text) => isIP(text) !== 0, 'must be an IP address: certbot takes no name here')
        .meta({ title: 'IP address' })
        .describe('Server that takes the updates: the primary one of the zone'),
      port: types.whole(1, 65_535).default(53).describe('TCP port of it'),
      name: keyName.describe('Name of the TSIG key'),
      secret: secret('its secret, in base64,'),
      algorithm: z.enum(algorithms).default('HMAC-SHA256').describe('Algorithm of the TSIG key'),
    })
    .describe('A name server that takes updates (RFC 2136), such as BIND, Knot or PowerDNS'),
  cloudflare: z
    .strictObject({ api_token: secret('an API token with Zone:DNS:Edit for the zone') })
    .describe('Cloudflare'),
  route53: z
    .strictObject({ access_key: secret('the access key'), secret_key: secret('its secret key') })
    .describe('Amazon Route 53'),
  google: z
    .strictObject({ account: secret('the JSON file of a service account') })
    .describe('Google Cloud DNS'),
  digitalocean: z.strictObject({ token: secret('an API token') }).describe('DigitalOcean'),
  ovh: z
    .strictObject({
      endpoint: z.enum(['ovh-eu', 'ovh-ca', 'ovh-us']).default('ovh-eu').describe('Its API'),
      application_key: secret('the application key'),
      application_secret: secret('the application secret'),
      consumer_key: secret('the consumer key'),
    })
    .describe('OVH'),
  linode: z.strictObject({ key: secret('an API key') }).describe('Linode'),
  dnsimple: z.strictObject({ token: secret('an access token') }).describe('DNSimple'),
  gehirn: z
    .strictObject({ api_token: secret('the API token'), api_secret: secret('the API secret') })
    .describe('Gehirn'),
  sakuracloud: z
    .strictObject({ api_token: secret('the API token'), api_secret: secret('the API secret') })
    .describe('Sakura Cloud'),
};

export type DnsPlugin = keyof typeof plugins;

export const dnsPlugins = Object.keys(plugins) as readonly DnsPlugin[];

/** Keys of the plugins that are not secret: all others are. */
const plainKeys = ['server', 'port', 'name', 'algorithm', 'endpoint'];

export const isSecretOfDns = (key: string) => !plainKeys.includes(key);

const optionalPlugins = Object.fromEntries(
  Object.entries(plugins).map(([name, schema]) => [name, schema.optional()]),
) as { [name in DnsPlugin]: z.ZodOptional<(typeof plugins)[name]> };

/** How certbot gets the certificate of a gateway. */
export const acme = z.strictObject({
  email: matching(/^[\w.+-]+@[\w.-]+$/, 'must be an email address', 'email address').describe(
    "Contact of the account there; a deploy accepts the server's terms of service in its name",
  ),
  directory: types.url
    .default('https://acme-v02.api.letsencrypt.org/directory')
    .describe(
      "Directory of the ACME server; the gateways' own list of certificate authorities has to have its issuer",
    ),
  dns: z
    .strictObject(
      {
        ...optionalPlugins,
        propagation_seconds: types
          .whole(0, 3600)
          .optional()
          .describe(
            'Seconds from the record to the question of the ACME server; default: that of the plugin, 10 to 120. Route 53 says itself when it is ready',
          ),
      },
      {
        error: ({ code, keys }) =>
          code === 'unrecognized_keys'
            ? (keys as string[]).map(() => `known are ${dnsPlugins.join(', ')}`).join('\n')
            : undefined,
      },
    )
    .optional()
    .describe(
      'Who has the domain: certbot shows there that it is yours (DNS-01). Default: it shows it on port 80 of the gateways (HTTP-01)',
    ),
});

/** The access to a domain's records, for certbot. */
export interface DnsAccess {
  readonly plugin: DnsPlugin;
  /** What is no secret, by the plugin's names. */
  readonly settings: Readonly<Record<string, string | number>>;
  readonly secrets: Readonly<Record<string, Secret>>;
  /** Seconds; undefined: those of the plugin. */
  readonly propagation: number | undefined;
}

/** Whether the gateways answer challenges on port 80. */
export const isChallengedByHttp = (
  tls: { readonly acme?: { readonly dns?: unknown } | undefined } | object | undefined,
): boolean => tls !== undefined && 'acme' in tls && tls.acme !== undefined && tls.acme.dns === undefined;
