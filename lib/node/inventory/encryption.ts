import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { hintOfUnread, readBounded, UnfitFile, whyUnread } from '../../engine/file/bounded-file.ts';
import { pathBeside } from '../../engine/file/private-file.ts';
import { shown } from '../../engine/file/shown-path.ts';
import { usualAddress } from '../../engine/inventory/address.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import { type Place, Problem } from '../../engine/problem/problem.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { errorCode } from '../../engine/text/error-code.ts';
import { unverifiable } from '../encryption/verifiable.ts';
import type { Authority, RawVariables } from '../variables/variables.ts';

type Deployment = LoadedInventory<RawVariables>;
type Host = InventoryHost<RawVariables>;

/** Of a file of authorities: some hundred of them. Bytes. */
const longest = 256 * 1024;

/** The groups of hosts that are database servers. */
const servers = ['database', 'replica'];

/** The certificates of a text, each in PEM. */
export function certificatesOf(text: string): readonly string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
}

/**
 * The authority of a host, checked: its first certificate is one of an authority, is valid now, and
 * has the key, and clients of a database server verify what it signs.
 *
 * @param problems where all that is wrong is added
 * @returns undefined for a host without encryption, or with a problem
 */
export async function readAuthority(
  inventory: Deployment,
  host: Host,
  problems: Problem[],
): Promise<Authority | undefined> {
  const {
    name,
    vars: { tls },
  } = host;
  if (!tls) return undefined;
  const placeOf = (key: string) => inventory.placeOf(name, ['tls', key]);
  const question = {
    name: 'tls.key',
    where: placeOf('key'),
    allowed: { pattern: /^[^\0]+$/, reason: 'it is text in PEM, or base64' },
  };
  const reading = inventory.readSecret(tls.key, question);
  const secret = await reading.catch((error) => void problems.push(...problemsIn(error)));
  const file = pathBeside(placeOf('ca').file, tls.ca);
  const found: Problem[] = [];
  const certificates = certificatesIn(file, placeOf('ca'), found);
  const key = secret && keyIn(secret, placeOf('key'), found);
  const [first] = certificates;
  if (first && key && !new X509Certificate(first).checkPrivateKey(key)) {
    const hint = `secrets.mjs generate makes the certificate of a new key; after a rotation it comes first in ${shown(file)}`;
    const what = `tls.key is not the private key of the first certificate of ${shown(file)}`;
    found.push(new Problem(what, { where: placeOf('key'), hint }));
  }
  problems.push(...found);
  if (!first || !key || found.length > 0) return undefined;
  const pem = new Secret(key.export({ type: 'pkcs8', format: 'pem' }).toString());
  const authority = { certificate: `${first}\n`, trusted: `${certificates.join('\n')}\n`, key: pem };
  const problem = await notVerified(authority, host, file, placeOf('ca'));
  if (problem) problems.push(problem);
  return problem ? undefined : authority;
}

/** The problem with an authority whose certificates clients of the database server do not verify. */
async function notVerified(
  authority: Authority,
  host: Host,
  file: string,
  where: Place,
): Promise<Problem | undefined> {
  if (!host.groups.some((each) => servers.includes(each))) return undefined;
  const unfit = await unverifiable(authority, host);
  return unfit && new Problem(`tls.ca: ${shown(file)} ${unfit.why}`, { where, hint: unfit.hint });
}

/** The certificates of a file, each in PEM. Adds to the problems. */
function certificatesIn(file: string, where: Place, problems: Problem[]): readonly string[] {
  const refuse = (why: string, hint?: string) => {
    problems.push(new Problem(`tls.ca: ${shown(file)} ${why}`, { where, hint }));
    return [];
  };
  const howToMake = 'make it: secrets.mjs generate (docs/encryption.md)';
  let text: string;
  try {
    text = readBounded(file, longest).toString();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return refuse(whyUnread(error), howToMake);
    if (error instanceof UnfitFile || errorCode(error)) return refuse(whyUnread(error), hintOfUnread(error));
    throw error;
  }
  const blocks = certificatesOf(text);
  if (blocks.length === 0) return refuse('has no certificate in PEM', howToMake);
  for (const [at, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch {
      return refuse(`has a certificate that is not PEM, the ${at + 1}. one`);
    }
  }
  const first = new X509Certificate(blocks[0] ?? '');
  if (!first.ca)
    return refuse('begins with a certificate of no authority: it may not sign others', howToMake);
  if (Date.parse(first.validTo) < Date.now())
    return refuse(`has expired: it was valid until ${first.validTo}`, 'make a new one: docs/encryption.md');
  if (Date.parse(first.validFrom) > Date.now())
    return refuse(`is valid only from ${first.validFrom}`, 'check the clock of this machine');
  return blocks;
}

/**
 * The private key of an authority.
 *
 * @param secret in PEM, or PKCS #8 in one line of base64
 * @throws Error for another text
 */
export function authorityKey(secret: Secret): KeyObject {
  const text = secret.reveal().trim();
  if (text.startsWith('-----')) return createPrivateKey(text);
  return createPrivateKey({ key: Buffer.from(text, 'base64'), type: 'pkcs8', format: 'der' });
}

function keyIn(secret: Secret, where: Place, problems: Problem[]): KeyObject | undefined {
  try {
    return authorityKey(secret);
  } catch {
    const what = 'tls.key is not a private key in PEM without a passphrase, or in base64';
    problems.push(new Problem(what, { where, hint: 'make one: secrets.mjs generate (docs/encryption.md)' }));
    return undefined;
  }
}

/** Of private networks (RFC 1918, 6598, 3927, 4193, 4291). */
const privateNetworks = new BlockList();
for (const [first, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['127.0.0.0', 8],
] as const)
  privateNetworks.addSubnet(first, bits, 'ipv4');
for (const [first, bits] of [
  ['fc00::', 7],
  ['fe80::', 10],
  ['::1', 128],
] as const)
  privateNetworks.addSubnet(first, bits, 'ipv6');

/**
 * Ends of names that no public name server has (RFC 6761, RFC 6762 with its appendix G, RFC 8375,
 * and ICANN's decision of 2024 about internal).
 */
const privateName =
  /\.(internal|intranet|private|corp|home|lan|local|localdomain|localhost|test|home\.arpa)\.?$/i;

/** Whether an address is a public one; unknown for a name that public name servers may have. */
function isPublic(address: string): boolean | 'unknown' {
  const usual = usualAddress(address);
  const family = isIP(usual);
  if (family === 0) return usual.includes('.') && !privateName.test(usual) ? 'unknown' : false;
  return !privateNetworks.check(usual, family === 4 ? 'ipv4' : 'ipv6');
}

/** The groups of hosts that are database servers, or their clients. */
const ofDatabases = ['database', 'replica', 'rpc', 'backup'];

/**
 * A warning where SQL leaves a host in plain text, its address is a public one or may be one, and
 * the inventory does not say that this is right. One for the whole inventory, at the first such
 * host.
 */
export function plainTextWarnings({ hosts, placeOfGroup }: Deployment): Problem[] {
  const chosen = hosts.filter(({ groups }) => groups.some((each) => ofDatabases.includes(each)));
  const are = (what: true | 'unknown') =>
    chosen.filter(({ connection, vars }) => vars.tls === undefined && isPublic(connection.address) === what);
  const isCertain = are(true).length > 0;
  const open = are(isCertain || 'unknown');
  const [first] = open;
  if (!first || chosen.length < 2) return [];
  const where = placeOfGroup(first.groups[0] ?? '', first.name, 'address');
  const names = open.map(({ name }) => name);
  const list = names.length > 5 ? [...names.slice(0, 5), `${names.length - 5} more`] : names;
  const plain = 'SQL between the hosts travels in plain text';
  const at = open.length === 1 ? 'has a public address' : 'have public addresses';
  const what = isCertain
    ? `${list.join(', ')} ${at}, and ${plain}`
    : `the address of ${list.join(', ')} is a name that may be public, and ${plain}`;
  const otherwise = isCertain ? 'something else does' : 'the network is private';
  const hint = `encrypt it: tls, as docs/encryption.md says; \`tls: false\` says that ${otherwise}`;
  return [new Problem(what, { where, hint })];
}
