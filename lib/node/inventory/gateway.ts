import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { hintOfUnread, readBounded, UnfitFile, whyUnread } from '../../engine/file/bounded-file.ts';
import { pathBeside } from '../../engine/file/private-file.ts';
import { shown } from '../../engine/file/shown-path.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import { type Place, Problem } from '../../engine/problem/problem.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { errorCode } from '../../engine/text/error-code.ts';
import { fitsInOrder } from '../../engine/text/glob.ts';
import { domainOf, isOfDomain } from '../variables/acme.ts';
import type { Fault } from '../variables/fault.ts';
import type { AcmeCertificate, Certificate, RawVariables } from '../variables/variables.ts';
import { readDnsAccess } from './dns-access.ts';

type Deployment = LoadedInventory<RawVariables>;
type Host = InventoryHost<RawVariables>;

const isGateway = ({ groups }: Host) => groups.includes('gateway');
/** The ports of `gateway` in the inventory. */
export const gatewayPorts = ['http', 'websocket', 'metrics', 'peers'] as const;

/** The rules for gateways that the schema of the variables cannot express. */
export function* gatewayFaults(deployment: Deployment, host: Host): Generator<Fault> {
  const { hosts } = deployment;
  const { name, vars } = host;
  if (isForOthers(deployment, host, 'methods', 'rpc')) {
    const what = `methods of ${name} has no use: it is no RPC server`;
    yield { path: ['methods'], at: 'key', what, hint: 'give it to hosts in group rpc' };
  }
  if (!isGateway(host)) {
    const hint = 'name it in the vars of all hosts, or of the hosts in group gateway';
    const what = `gateway of ${name} has no use: it is no gateway`;
    if (isForOthers(deployment, host, 'gateway', 'gateway'))
      yield { path: ['gateway'], at: 'key', what, hint };
    return;
  }
  yield* leastFaults(hosts, vars.gateway.least_serving ?? 0);
  yield* heavyFaults(hosts, vars.gateway.methods.heavy);
  if (vars.gateway.key_required && Object.keys(vars.gateway.keys).length === 0) {
    const hint = 'name keys in gateway.keys, or leave it out';
    yield {
      path: ['gateway', 'key_required'],
      what: 'gateway.key_required lets nobody in: there is no key',
      hint,
    };
  }
  yield* methodFaults(vars.gateway.methods);
  yield* trustFaults(vars.gateway.trusted?.addresses ?? []);
  yield* sharedFaults(hosts, host);
}

/**
 * Whether a variable is for hosts of a group, and the `vars` that give it to this host, its own or
 * those of a group, give it to none of these hosts.
 */
function isForOthers({ hosts, hostsWith }: Deployment, { name }: Host, key: string, group: string): boolean {
  const meant = hosts.filter(({ groups }) => groups.includes(group)).map((each) => each.name);
  return hostsWith(name, [key])?.some((each) => meant.includes(each)) === false;
}

/** An address that gateways share is the same on all, and no host's own. */
function* sharedFaults(hosts: readonly Host[], { name, vars }: Host): Generator<Fault> {
  const path = ['gateway', 'shared'];
  const own = vars.gateway.shared?.address;
  const [first, ...others] = hosts.filter(isGateway);
  if (own !== undefined && others.length === 0) {
    const hint = 'leave it out, or name another host in group gateway';
    yield { path, what: `gateway.shared has no use: ${name} is the only gateway`, hint };
  } else if (own !== first?.vars.gateway.shared?.address) {
    yield {
      path,
      what: `gateway.shared of ${name} differs from that of ${first?.name}, which shares the address`,
    };
  }
  const taken = hosts.find(({ connection }) => connection.address === own?.replace(/\/.*/, ''));
  if (taken) {
    const hint = 'the gateways share an address that no host has';
    yield {
      path: [...path, 'address'],
      what: `gateway.shared.address ${own} is the address of ${taken.name}`,
      hint,
    };
  }
}

/** Servers for heavy methods do not serve in place of usual ones. */
function* leastFaults(hosts: readonly Host[], least: number): Generator<Fault> {
  const rpc = hosts.filter(({ groups }) => groups.includes('rpc'));
  const usual = rpc.filter(({ vars }) => vars.methods !== 'heavy');
  const most = Math.max(0, usual.length - 1);
  if (least <= most) return;
  const kind = usual.length < rpc.length ? ' for usual methods' : '';
  const what = `gateway.least_serving is ${least}, and of ${usual.length} RPC servers${kind} ${most} serve while one is changed`;
  yield { path: ['gateway', 'least_serving'], what, hint: `at most ${most}, or add RPC servers` };
}

/** Methods need a host that answers them. */
function* heavyFaults(hosts: readonly Host[], heavy: readonly string[]): Generator<Fault> {
  const rpc = hosts.filter(({ groups }) => groups.includes('rpc'));
  const forHeavy = rpc.filter(({ vars }) => vars.methods === 'heavy');
  const path = ['gateway', 'methods', 'heavy'];
  if (heavy.length > 0 && forHeavy.length === 0) {
    const hint = 'give one of them methods: heavy, or leave it out';
    yield { path, what: 'gateway.methods.heavy has no use: no RPC server is for them', hint };
  }
  if (heavy.length === 0 && forHeavy.length > 0) {
    const names = forHeavy.map(({ name }) => name).join(', ');
    const hint = 'name methods in gateway.methods.heavy, such as debug_*, or leave out methods: heavy';
    yield { path, what: `${names} would get no request: gateway.methods.heavy names no method`, hint };
  }
  if (rpc.length > 0 && forHeavy.length === rpc.length) {
    yield { path, what: 'no RPC server is left for methods that are not heavy', hint: 'add one' };
  }
}

/** Names of methods match in any case. */
function* methodFaults({ allow, deny, limits }: RawVariables['gateway']['methods']): Generator<Fault> {
  const path = ['gateway', 'methods'];
  const denied = deny.map((name) => name.toLowerCase().split('*'));
  if (allow?.every((name) => denied.some((pieces) => fitsInOrder(name.toLowerCase(), pieces)))) {
    const what = 'gateway.methods offers nothing: deny has all that allow has';
    yield { path: [...path, 'allow'], what, hint: 'leave out of deny what clients may use' };
  }
  const names = Object.keys(limits);
  for (const [at, name] of names.entries()) {
    const other = names.slice(0, at).find((each) => each.toLowerCase() === name.toLowerCase());
    if (other === undefined) continue;
    const what = `gateway.methods.limits has ${name} twice, also as ${other}: names match in any case`;
    yield { path: [...path, 'limits', name], at: 'key', what, hint: 'keep one of them' };
  }
}

/** Whoever is trusted can be any client. */
function* trustFaults(addresses: readonly string[]): Generator<Fault> {
  for (const [at, address] of addresses.entries()) {
    if (!/\/[0-7]$/.test(address)) continue;
    yield {
      path: ['gateway', 'trusted', 'addresses', String(at)],
      what: `gateway.trusted.addresses has ${address}: everybody there could be any client`,
      hint: 'name the addresses of your load balancer or CDN alone',
    };
  }
}

/** A certificate with its issuers has some kilobytes. Bytes. */
const longest = 256 * 1024;

/**
 * The certificate of a gateway and its key, checked: they belong together, and the certificate has
 * the names and is valid now. One by ACME does not exist yet.
 *
 * @param problems where all that is wrong is added
 * @returns undefined for a host without TLS, or with a problem
 */
export async function readCertificate(
  inventory: Deployment,
  host: Host,
  problems: Problem[],
): Promise<Certificate | AcmeCertificate | undefined> {
  const tls = host.vars.gateway.tls;
  if (!tls || !isGateway(host)) return undefined;
  const placeOf = (...keys: string[]) => inventory.placeOf(host.name, ['gateway', 'tls', ...keys]);
  const { acme, certificate, key, names } = tls;
  if (certificate !== undefined && key !== undefined && !acme) {
    return readGiven(inventory, placeOf, { certificate, key, names }, problems);
  }
  if (!acme || certificate !== undefined || key !== undefined) {
    const has = (['certificate', 'key', 'acme'] as const)
      .filter((each) => tls[each] !== undefined)
      .join(' and ');
    const what = `gateway.tls has ${has || 'no certificate'}, and needs either certificate and key, or acme`;
    problems.push(new Problem(what, { where: placeOf() }));
    return undefined;
  }
  const refused = acmeNameProblem(names, acme.dns !== undefined);
  if (refused !== undefined)
    problems.push(new Problem(refused.what, { where: placeOf('names'), hint: refused.hint }));
  const dns = acme.dns && (await readDnsAccess(inventory, placeOf, acme.dns, problems));
  if (refused !== undefined || (acme.dns && !dns)) return undefined;
  return { acme: { email: acme.email, directory: acme.directory, ...(dns && { dns }) }, names };
}

/** Why an ACME server issues no certificate for one of the names. */
function acmeNameProblem(names: readonly string[], byDns: boolean) {
  const address = names.find((name) => isIP(domainOf(name)) !== 0);
  if (address !== undefined) {
    const what = `gateway.tls.names: ${address} is an address, and certbot gets certificates for names alone`;
    return { what };
  }
  const lower = names.map((name) => name.toLowerCase());
  const twice = names.find((_, at) => lower.indexOf(lower[at] ?? '') < at);
  if (twice !== undefined) return { what: `gateway.tls.names has ${twice} twice` };
  const [all, single] =
    lower
      .map((name) => [name, lower.find((each) => isOfDomain(each, name))] as const)
      .find(([, one]) => one !== undefined) ?? [];
  if (single !== undefined) {
    const what = `gateway.tls.names: ${single} is among the names of ${all}, and Let's Encrypt refuses to certify both`;
    return { what, hint: 'leave out the single name' };
  }
  const wildcard = byDns ? undefined : names.find((name) => name !== domainOf(name));
  if (wildcard === undefined) return undefined;
  const what = `gateway.tls.names: ${wildcard} is all names of a domain, for which an ACME server asks the DNS alone`;
  return { what, hint: 'name in gateway.tls.acme.dns who has the domain, or name each of the names' };
}

type Tls = NonNullable<RawVariables['gateway']['tls']>;
type GivenTls = Pick<Tls, 'names'> & { readonly [key in 'certificate' | 'key']: NonNullable<Tls[key]> };

async function readGiven(
  inventory: Deployment,
  placeOf: (...keys: string[]) => Place,
  tls: GivenTls,
  problems: Problem[],
): Promise<Certificate | undefined> {
  const question = {
    name: 'gateway.tls.key',
    where: placeOf('key'),
    allowed: { pattern: /^[^\0]+$/, reason: 'it is text in PEM' },
  };
  const reading = inventory.readSecret(tls.key, question);
  const key = await reading.catch((error) => void problems.push(...problemsIn(error)));
  const file = pathBeside(placeOf('certificate').file, tls.certificate);
  const found: Problem[] = [];
  const certificate = certificateIn(file, (what, hint) =>
    found.push(new Problem(what, { where: placeOf('certificate'), hint })),
  );
  if (certificate && key) {
    found.push(...keyProblems(certificate.leaf, key, placeOf('key'), shown(file)));
    found.push(
      ...tls.names.flatMap((name) => nameProblems(certificate.leaf, name, placeOf('names'), shown(file))),
    );
  }
  problems.push(...found);
  return certificate && key && found.length === 0
    ? { certificate: certificate.text, key, names: tls.names }
    : undefined;
}

function certificateIn(file: string, refuse: (what: string, hint?: string) => void) {
  try {
    const text = readBounded(file, longest).toString();
    const leaf = new X509Certificate(text);
    const now = Date.now();
    if (Date.parse(leaf.validTo) < now) {
      refuse(
        `gateway.tls.certificate: ${shown(file)} has expired: it was valid until ${leaf.validTo}`,
        'renew it',
      );
    } else if (Date.parse(leaf.validFrom) > now) {
      refuse(
        `gateway.tls.certificate: ${shown(file)} is valid only from ${leaf.validFrom}`,
        'check the clock of this machine',
      );
    }
    return { text, leaf };
  } catch (error) {
    const code = errorCode(error) ?? '';
    const isOfFile = error instanceof UnfitFile || /^E(?!RR_)/.test(code);
    const why = isOfFile ? whyUnread(error) : 'is not a certificate in PEM';
    const hint = code === 'ENOENT' ? 'the path is relative to the file that names it' : hintOfUnread(error);
    refuse(`gateway.tls.certificate: ${shown(file)} ${why}`, hint);
    return undefined;
  }
}

function keyProblems(leaf: X509Certificate, key: Secret, where: Problem['where'], file: string): Problem[] {
  try {
    if (leaf.checkPrivateKey(createPrivateKey(key.reveal()))) return [];
    const hint = 'name the key with which the certificate was requested';
    return [new Problem(`gateway.tls.key is not the private key of ${file}`, { where, hint })];
  } catch {
    const hint = 'remove a passphrase: openssl pkey -in KEY -out NEW';
    return [new Problem('gateway.tls.key is not a private key in PEM without a passphrase', { where, hint })];
  }
}

function nameProblems(leaf: X509Certificate, name: string, where: Problem['where'], file: string): Problem[] {
  const isForAll = name !== domainOf(name);
  // OpenSSL compares all names of a domain with any of them.
  const one = isForAll ? name.replace('*', 'any') : name;
  if ((isIP(name) ? leaf.checkIP(name) : leaf.checkHost(one)) !== undefined) return [];
  const has = (leaf.subjectAltName ?? leaf.subject).replaceAll('\n', ', ');
  return [
    new Problem(`gateway.tls.names: ${file} is not for ${name}`, {
      where,
      hint: `the certificate is for ${has}`,
    }),
  ];
}
