import { createPublicKey } from 'node:crypto';
import { BlockList } from 'node:net';
import * as z from 'zod';
import { matching, secretReferenceSchema } from '../../engine/inventory/schema.ts';
import { secretReferenceKinds } from '../../engine/inventory/secret-reference.ts';
import { isSystemFolder } from '../../engine/resource/file/system-folders.ts';
import { parseIpNetwork } from '../../engine/resource/network/ip-network.ts';
import { postgresVersion, tagOf } from './generation.ts';

// Messages continue the name of a key: `network.l1_rpc_url must be a web address`. A second line
// is the hint.

/** A number of connections, threads or processes. */
export const count = z.int().positive();

/** Connections of a database server, up to PostgreSQL's own limit. */
export const connections = count.max(262_143);

/** An integer, with both limits included. */
export const whole = (least: number, most: number) => z.int().min(least).max(most);

/**
 * Addresses go into files and command lines unchanged, so every program must read them alike: only
 * characters of RFC 3986.
 */
export const url = matching(
  /^[Hh][Tt][Tt][Pp][Ss]?:\/\/(?:[\w.~!$&'()*+,;=:@-]|%[\dA-Fa-f]{2}|\[[\dA-Fa-f:.]+\])+(?:[/?#](?:[\w.~!$&'()*+,;=:@/?#-]|%[\dA-Fa-f]{2})*)?$/,
  "must be a web address (http:// or https://), with all but letters, digits and -._~:/?#@!$&'()*+,;= written as %XX",
  'web address',
).refine(
  (address) => URL.canParse(address),
  'must be a web address whose host and port exist: the port is at most 65535',
);

const noPassword = 'must not hold a user name or a password: the part before @ would be visible to others';

/** The address of a download is visible in process lists, files and messages. */
export const downloadAddress = url.regex(/^[^/]*\/\/[^@/?#]*(?:[/?#]|$)/, { error: noPassword, abort: true });

const layer1Address = downloadAddress
  .regex(/^[^/]*\/\/(?:[A-Za-z0-9.-]+|\[[\dA-Fa-f:.]+\])(?::\d+)?(?:[/?]|$)[^#]*$/, {
    error: 'must be a host name or an IP address, with a port and a path if it needs them, and no #',
    abort: true,
  })
  .refine(
    (address) => !/^https:\/\/(?:\[|[\d.]+(?:[:/?]|$))/i.test(address),
    'must have a host name: the certificate of the provider is compared with it',
  );

/** Addresses of layer 1, of which HAProxy uses one at a time. */
export const layer1Addresses = z
  .array(layer1Address)
  .min(2, 'must have two addresses at least\nwith one address, write l1_rpc_url')
  .max(16)
  .superRefine((addresses, { addIssue }) => {
    const known = addresses.map((address) => (URL.canParse(address) ? new URL(address).href : address));
    for (const [at, address] of known.entries()) {
      const first = known.indexOf(address);
      if (first === at) continue;
      addIssue({ code: 'custom', path: [at], message: `is the address of l1_rpc_urls.${first}, too` });
    }
  });

/** Docker's format: a registry, a path in lower case, a tag, a digest. */
export const image = matching(
  /^(?:[A-Za-z0-9]+(?:[.-]+[A-Za-z0-9]+)*(?::\d+)?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/,
  'must be the name of an image, such as registry.example/owner/name:tag, its path in small letters; a digest is @sha256: and 64 digits',
  'image',
);

/** Of cosign's signatures: ECDSA P-256, in PEM. A private key is refused, as its text is shown. */
export const publicKey = z
  .string()
  .refine(isPublicKey, {
    error:
      'must be a public key of ECDSA P-256 in PEM, -----BEGIN PUBLIC KEY-----\n' +
      'copy cosign.pub, and write | after the name of the key; a private key never belongs here',
  })
  .meta({ title: 'public key' });

function isPublicKey(text: string): boolean {
  if (!/^-----BEGIN PUBLIC KEY-----\s[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$/.test(text)) return false;
  try {
    return createPublicKey(text).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

/** `latest` becomes another version with time. A date is not a version. */
function isOtherPostgres(tag: string): boolean {
  const major = /^v?(\d{1,2})(?!\d)/.exec(tag)?.[1];
  return tag === 'latest' || (major !== undefined && Number(major) !== postgresVersion);
}

export const postgresImage = image.refine((name) => !isOtherPostgres(tagOf(name) ?? ''), {
  error: ({ input }) =>
    `has the tag ${tagOf(String(input))}, and PostgreSQL has to be of major version ${postgresVersion}\n` +
    `without a tag ${postgresVersion} is used; a digest, or a tag that is not a version, is used as it is`,
});

/** Those of the node's option --http.api. */
export const namespaceNames = ['eth', 'net', 'debug', 'zkevm', 'txpool', 'web3'] as const;

export const namespaces = z
  .array(z.enum(namespaceNames))
  .refine((names) => new Set(names).size === names.length, 'must name each namespace once')
  .refine((names) => names.includes('eth'), 'must include eth: the installation check calls eth_blockNumber');

export const registryAddress = matching(
  /^([A-Za-z0-9][A-Za-z0-9.-]*|\[[\dA-Fa-f:]+\])(:\d{1,5})?$/,
  'must be host:port',
  'host:port',
);

export const repository = z
  .string()
  .regex(/^[^\s\p{Cc}-][^\s\p{Cc}]*$/u, 'must be one word that does not start with -')
  .regex(/^(?![Hh][Tt][Tt][Pp][Ss]?:\/\/[^/?#]*@)/, { error: noPassword, abort: true })
  // The name of a user is part of an address of ssh.
  .regex(/^(?![A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#@]*:[^/?#]*@)/, {
    error: 'must not hold a password: it would be visible to others',
    abort: true,
  });

export const gitRef = z
  .string()
  .regex(/^[A-Za-z0-9][\w./+-]*$/, 'must be the name of a tag, or a commit')
  .refine((ref) => !ref.includes('..'), 'must not contain ..');

/** A file that hosts download. */
export const download = z.strictObject({
  url: downloadAddress.describe('Download address, without user name and password'),
  sha256: matching(/^[0-9a-f]{64}$/, 'must be 64 hex digits in small letters', '64 hex digits').describe(
    'SHA-256 of the file, in hex',
  ),
});

/**
 * Endings of formats in which no archive of PostgreSQL is; the specification's end in .sql.tar.gz.
 */
const otherFormat = /\.(7z|bz2|html?|iso|json|lz4|rar|xz|zip|zst|toml|ya?ml)$/i;

/** An archive of a database. */
export const archive = download.extend({
  url: downloadAddress
    .refine((text) => !otherFormat.test(text.replace(/[?#].*$/, '')), {
      error: ({ input }) => {
        const [ending] = otherFormat.exec(String(input).replace(/[?#].*$/, '')) ?? [];
        return `ends in ${ending}, and an archive of PostgreSQL is not in that format: its name ends in .sql.tar.gz`;
      },
    })
    .describe('Download address, without user name and password'),
});

export const goVersion = matching(/^\d+\.\d+$/, 'must be a version such as 1.21', 'version');

/** A size in the units of PostgreSQL, powers of 1024. */
export const memory = (byDefault: string, description: string) =>
  matching(/^[1-9]\d*(kB|MB|GB)$/, 'must be a PostgreSQL size such as 128MB or 16GB', 'size')
    .default(byDefault)
    .describe(`${description}, in kB, MB or GB`);

export const dockerSize = matching(/^[1-9]\d*[kmg]b?$/, 'must be a Docker size such as 1gb', 'size');
export const percent = whole(1, 99);

const day = z.iso
  .date({ error: ({ code }) => (code === 'invalid_format' ? 'must be a day, YYYY-MM-DD' : undefined) })
  .meta({ title: 'day' });

/** Where the day begins first (UTC+14), it may be tomorrow. */
export const pastDay = day.refine(
  (text) => text <= new Date(Date.now() + 14 * 3_600_000).toISOString().slice(0, 10),
  'is in the future',
);

export const absolutePath = matching(
  /^\/[A-Za-z0-9._/-]*$/,
  'must be an absolute path of letters, digits, . _ - and /',
  'absolute path',
).refine((path) => !path.split('/').includes('..'), 'must not contain ..');

export const folder = absolutePath.refine(
  (path) => /^(\/[^/]+)+$/.test(path) && !path.split('/').includes('.'),
  'must name a folder, with no /./ or // in it and no / at its end',
);

/**
 * A folder for data is root's alone, or its program's. The others of these names may be a
 * program's or a package's, and Docker's own moves to another disk with all that is in it.
 */
const isNotOwn = (path: string) =>
  isSystemFolder(path) || /^\/(usr|var)\/\w+$|^\/var\/lib\/docker(\/|$)/.test(path);

export const ownFolder = folder.refine(
  (path) => !isNotOwn(path),
  'must be a folder of its own, not one of the system',
);

export const ipNetworks = z.array(
  z
    .string()
    .refine(
      (text) => parseIpNetwork(text) !== undefined,
      'must be an IP address, or a network such as 10.0.0.0/8',
    )
    .refine(
      (text) => !/^::ffff:/i.test(text),
      'is an IPv4 address in the notation of IPv6, which no packet has: write it as 10.0.0.1',
    )
    .meta({ title: 'IP address or network' }),
);

const privateNetworks = new BlockList();
for (const [address, prefix] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  privateNetworks.addSubnet(address, prefix);
}

/**
 * A private IPv4 network (RFC 1918) by its first address. Docker gives one address to each
 * container, and one to the host.
 */
export const privateNetwork = z
  .string()
  .refine((text) => {
    const [address = '', prefix] = text.split('/');
    const isWhole = parseIpNetwork(text)?.text === text && privateNetworks.check(address);
    return isWhole && Number(prefix) >= 16 && Number(prefix) <= 28;
  }, 'must be a private IPv4 network of /16 to /28 by its first address, such as 10.213.7.0/24')
  .meta({ title: 'private network' });

/** PostgreSQL cuts longer names off. */
const longestName = 63;
const credentialName = z
  .string()
  .max(longestName)
  .regex(/^[A-Za-z0-9_.~-]+$/, {
    error: 'must hold only A-Z a-z 0-9 _ . ~ -, as the node puts it unescaped into a URL',
    abort: true,
  })
  .regex(/^\w/, 'must start with a letter, a digit or _')
  .meta({ title: 'name' });

const nameRule = `at most ${longestName} characters of A-Z a-z 0-9 _ . ~ -`;

/** User, password and name of one database. */
export const credentials = z.strictObject({
  user: credentialName
    .refine(
      (name) => !/^(pg_.*|public|none|rpc_node_.*)$/.test(name),
      'is a reserved name of PostgreSQL or of these playbooks',
    )
    .describe(`Database user: ${nameRule}`),
  password: secretReferenceSchema.describe(`Where the password is: ${secretReferenceKinds}`),
  database: credentialName
    .refine((name) => !/^(postgres|template[01])$/.test(name), "is one of PostgreSQL's own databases")
    .describe(`Name of the database: ${nameRule}`),
});
