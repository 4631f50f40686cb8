import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import type { SecretQuestion } from '../../engine/inventory/secret-reference.ts';
import { type Place, Problem } from '../../engine/problem/problem.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import { type DnsAccess, type DnsPlugin, dnsPlugins, isSecretOfDns } from '../variables/acme.ts';
import type { RawVariables } from '../variables/variables.ts';

type Tls = NonNullable<RawVariables['gateway']['tls']>;
type Dns = NonNullable<NonNullable<Tls['acme']>['dns']>;

/** certbot reads a file of its plugins, and Amazon's library its own: these stand for themselves. */
const ofToken: NonNullable<SecretQuestion['allowed']> = {
  pattern: /^[A-Za-z0-9+/=_.~-]+$/,
  reason: 'only A-Z a-z 0-9 + / = _ . ~ - are in a key or a token',
  hint: 'copy it again as the provider shows it',
};

const allowed: Readonly<Record<string, NonNullable<SecretQuestion['allowed']>>> = {
  'rfc2136.secret': {
    pattern: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
    reason: 'it is base64',
    hint: 'copy what tsig-keygen prints as secret, without its quotes',
  },
  'google.account': {
    pattern: /^[^\0]+$/,
    reason: 'it is JSON',
    hint: 'make a key of type JSON for the service account, and take its file as it is',
  },
};

/**
 * The access to the records of the domain, with its secrets.
 *
 * @param placeOf the place of a key below `gateway.tls`
 * @param problems where all that is wrong is added
 * @returns undefined with a problem
 */
export async function readDnsAccess(
  inventory: LoadedInventory<RawVariables>,
  placeOf: (...keys: string[]) => Place,
  dns: Dns,
  problems: Problem[],
): Promise<DnsAccess | undefined> {
  const found: Problem[] = [];
  const named = dnsPlugins.filter((plugin) => dns[plugin] !== undefined);
  const [plugin] = named;
  if (plugin === undefined || named.length > 1) {
    const what = `gateway.tls.acme.dns has ${named.join(' and ') || 'nobody'}, and needs one who has the domain`;
    problems.push(
      new Problem(what, { where: placeOf('acme', 'dns'), hint: `one of ${dnsPlugins.join(', ')}` }),
    );
    return undefined;
  }
  const { propagation_seconds: propagation } = dns;
  if (plugin === 'route53' && propagation !== undefined) {
    const what = 'gateway.tls.acme.dns.propagation_seconds has no use: Route 53 says itself when it is ready';
    const where = placeOf('acme', 'dns', 'propagation_seconds');
    found.push(new Problem(what, { where, hint: 'leave it out' }));
  }
  const entries = Object.entries(dns[plugin] ?? {});
  const secrets = await readSecrets(inventory, placeOf, { plugin, entries }, found);
  const account = plugin === 'google' ? secrets.account : undefined;
  if (account) found.push(...accountProblems(account, placeOf('acme', 'dns', 'google', 'account')));
  problems.push(...found);
  if (found.length > 0) return undefined;
  const settings = Object.fromEntries(entries.filter(([key]) => !isSecretOfDns(key)));
  return { plugin, settings, secrets, propagation };
}

async function readSecrets(
  inventory: LoadedInventory<RawVariables>,
  placeOf: (...keys: string[]) => Place,
  { plugin, entries }: { readonly plugin: DnsPlugin; readonly entries: readonly [string, string | number][] },
  problems: Problem[],
): Promise<Readonly<Record<string, Secret>>> {
  const reading = entries.flatMap(([key, value]) => {
    if (!isSecretOfDns(key)) return [];
    const name = ['gateway', 'tls', 'acme', 'dns', plugin, key].join('.');
    const where = placeOf('acme', 'dns', plugin, key);
    const question = { name, where, allowed: allowed[`${plugin}.${key}`] ?? ofToken };
    return [inventory.readSecret(String(value), question).then((secret) => [key, secret] as const)];
  });
  const secrets: (readonly [string, Secret])[] = [];
  for (const result of await Promise.allSettled(reading)) {
    if (result.status === 'fulfilled') secrets.push(result.value);
    else problems.push(...problemsIn(result.reason));
  }
  return Object.fromEntries(secrets);
}

/** What the file of a service account has, of which certbot and Google's library read these. */
const keysOfAccount = ['project_id', 'private_key_id', 'private_key', 'client_email', 'client_id'];

function accountProblems(account: Secret, where: Place): Problem[] {
  const name = 'gateway.tls.acme.dns.google.account';
  const hint = 'make a key of type JSON for the service account, and take its file as it is';
  const parsed = jsonIn(account.reveal());
  if (parsed === undefined) return [new Problem(`${name} is not JSON`, { where, hint })];
  if (parsed.type !== 'service_account')
    return [new Problem(`${name} is not of a service account`, { where, hint })];
  const missing = keysOfAccount.filter((key) => typeof parsed[key] !== 'string');
  if (missing.length === 0) return [];
  return [new Problem(`${name} has no ${missing.join(', ')}`, { where, hint })];
}

function jsonIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
