import { existsSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import type * as z from 'zod';
import { pathBeside } from '../file/private-file.ts';
import { type Place, Problem } from '../problem/problem.ts';
import { secretsFileOf } from '../secret/secrets-file.ts';
import { type Unlock, unlocker } from '../secret/unlock.ts';
import { askHosts, type SaidHosts } from './asked-hosts.ts';
import { check } from './check.ts';
import type { OutlinedHost } from './host-variables.ts';
import type { Inventory, SourcedInventory } from './inventory.ts';
import { missingKeyFiles } from './key-files.ts';
import {
  keyPlace,
  type Located,
  merge,
  type Path,
  pathName,
  scalarAt,
  scalars,
  valueAt,
  valuePlace,
} from './located.ts';
import { type InventoryOutline, type OutlineOptions, outlineInventory } from './outline.ts';
import { findPlaceholders } from './placeholders.ts';
import { problemsIn, throwProblems } from './problem-list.ts';
import { type HostSettings, inventorySchema, type SshSettings } from './schema.ts';
import type { SecretReader } from './secret-reader.ts';
import { readSecret } from './secret-reference.ts';
import { referencesIn, SecretHolders } from './secrets-in-values.ts';
import { sourcedVariables } from './sourced-variables.ts';

export interface LoadOptions extends OutlineOptions {
  readonly environment?: NodeJS.ProcessEnv;
  /**
   * Opens the file of secrets when a reference needs it. Default: with the available keys, asking
   * for nothing.
   */
  readonly unlock?: Unlock;
  /**
   * Gets the problems of the hosts' own secrets, for a caller who reads further ones and throws
   * all of them. Default: they are thrown.
   */
  readonly unreadable?: Problem[];
  /**
   * Selects the variables whose references to secrets stay references, for a caller who reads them
   * with rules of their own. In all others the secret takes the place of the reference.
   */
  readonly keepsReferences?: (path: Path) => boolean;
  /**
   * Whether its hosts will be connected to: then the key files that it names must exist. Default:
   * false.
   */
  readonly connects?: boolean;
}

/** A checked inventory that also knows the place of each value. */
export interface LoadedInventory<V> extends SourcedInventory<V> {
  /**
   * The place of a host's variable: in the host's own `vars`, in `vars`, or in a file of
   * variables.
   */
  placeOf(host: string, path: Path): Place;
  /** The place of a variable's key. */
  placeOfKey(host: string, path: Path): Place;
  /**
   * The hosts that have a variable of a host by the same `vars`: that host itself, or those of a
   * group. Undefined where only the variables of all hosts have it.
   */
  hostsWith(host: string, path: Path): readonly string[] | undefined;
  /**
   * The place of a group, or of a host in it or in a group within it, or of a setting of that
   * host: of the key, or of the nearest one above it.
   */
  placeOfGroup(group: string, ...path: readonly string[]): Place;
  readonly readSecret: SecretReader;
}

/**
 * Limit of checked values, those of all hosts counted for each host. A thousand hosts of our own
 * schema have a tenth of it.
 */
const mostValues = 2_000_000;
/** Far more problems than anybody reads: then no further host is checked. */
const enoughProblems = 1000;

/**
 * Reads and checks one inventory.
 *
 * @param nameOrFile as outlineInventory takes it
 * @param schema of the variables of one host, after merging: files of variables, `vars`, the
 * host's own `vars`
 * @throws Problem or Problems: everything that is wrong with it at once, each with its place;
 * placeholders come first
 */
export async function loadInventory<S extends z.ZodType>(
  nameOrFile: string,
  schema: S,
  options: LoadOptions = {},
): Promise<LoadedInventory<z.output<S>>> {
  const before = await outlineInventory(nameOrFile, options);
  const { name, file } = before;
  const { environment = process.env, unlock = unlocker({ environment }) } = options;
  const secrets = { file: secretsFileOf(file), unlock };
  const read: SecretReader = (reference, question) =>
    readSecret(reference, { ...question, environment, secrets });
  const said = await saidHosts(before, schema, options, read);
  const outline = said ? await outlineInventory(nameOrFile, { ...options, said }) : before;
  const { settings, vars } = await checkAll(outline, schema, options, read);

  const { unreadable = [] } = options;
  const hosts = await Promise.all(
    outline.hosts.map(async (host, i) => {
      const [own] = host.groups.flatMap((group) => settings?.groups[group]?.[host.name] ?? []);
      const becomePassword = await becomePasswordOf(host, outline.ssh, read).catch(
        (error) => void unreadable.push(...problemsIn(error)),
      );
      const connection = {
        ...connectionSettings(own as HostSettings, settings?.ssh ?? {}, file),
        becomePassword,
      };
      return { name: host.name, groups: host.groups, connection, vars: vars[i] as z.output<S> };
    }),
  );
  if (!options.unreadable) throwProblems(unreadable);

  return { name, file, hosts, ...placesIn(outline), ...(said && { said }), readSecret: read };
}

/**
 * What the commands print that name hosts; undefined without such a command. None runs for an
 * inventory that is wrong elsewhere.
 *
 * @throws Problem, Problems where the rest of the inventory is wrong, or a command fails
 */
async function saidHosts<S extends z.ZodType>(
  outline: InventoryOutline,
  schema: S,
  { said, keepsReferences = () => false }: LoadOptions,
  read: SecretReader,
): Promise<SaidHosts | undefined> {
  if (![...outline.groups.groups.values()].some(({ command }) => command)) return undefined;
  refuseTooMany(outline);
  const open = findPlaceholders(outline.top, isSetting);
  const { problems: wrong } = check(inventorySchema, outline.top);
  const values = [outline.vars, ...outline.hosts.map(({ vars }) => vars)];
  const secrets = new SecretHolders(values, (path) => !keepsReferences(path));
  const found: Problem[] = [];
  checkVariables({ ...outline, complete: false }, schema, open, found);
  const ofValues = found.filter(({ where }) => !secrets.isAt(where));
  const missing = await missingSecrets(outline, read);
  throwProblems([...wrong, ...outline.problems, ...secrets.wrong(), ...ofValues, ...missing], open);
  return askHosts(outline.groups, said);
}

/**
 * Checks an outline: its settings, and the variables of each host, or those of all hosts where
 * there is no host.
 *
 * @throws Problem or Problems as loadInventory does
 */
async function checkAll<S extends z.ZodType>(
  outline: InventoryOutline,
  schema: S,
  { connects, missingFileHint, keepsReferences = () => false }: LoadOptions,
  read: SecretReader,
) {
  refuseTooMany(outline);
  // Variables are searched once for each host, merged.
  const open = findPlaceholders(outline.top, isSetting);
  const { data: settings, problems: wrong } = check(inventorySchema, outline.top);
  const problems = [
    ...wrong,
    ...outline.problems,
    ...duplicateAddresses(outline),
    ...unusedSettings(outline),
  ];
  if (connects) problems.push(...missingKeyFiles(outline, missingFileHint));
  const given = outline.hosts.map((host) => host.vars);
  const secrets = new SecretHolders(
    given.length > 0 ? given : [outline.vars],
    (path) => !keepsReferences(path),
  );
  const found: Problem[] = [];
  const vars = checkVariables(outline, schema, open, found);
  problems.push(...secrets.wrong(), ...found.filter(({ where }) => !secrets.isAt(where)));
  if (problems.length + open.length > 0) problems.push(...(await missingSecrets(outline, read)));
  throwProblems(problems, open);
  if (secrets.size === 0) return { settings, vars };
  throwProblems(await secrets.read(read));
  const filled = outline.hosts.map((host) => ({ ...host, vars: secrets.filled(host.vars) }));
  const ofFilled = checkVariables({ ...outline, hosts: filled }, schema, open, problems);
  throwProblems(problems, open);
  return { settings, vars: ofFilled };
}

/** Whether a value of an inventory belongs to its settings, and not to its variables. */
function isSetting([key, , ofGroup, ofHost]: Path): boolean {
  return key !== 'vars' && !(key === 'groups' && (ofGroup === 'vars' || ofHost === 'vars'));
}

function placesIn({ top, hosts, groups }: InventoryOutline): Omit<LoadedInventory<unknown>, NotPlaces> {
  const outlined = new Map(hosts.map((host) => [host.name, host]));
  return {
    placeOf: (host, path) => valuePlace(outlined.get(host)?.vars ?? top, path),
    placeOfKey: (host, path) => keyPlace(outlined.get(host)?.vars ?? top, path),
    hostsWith: (host, path) =>
      outlined.get(host)?.layers.findLast(({ hosts, vars }) => hosts && valueAt(vars, path))?.hosts,
    sourcesOf: (host, path) => sourcedVariables(outlined.get(host), path),
    placeOfGroup: (group, ...path) => {
      const within = [...groups.groups.keys()].filter((each) => groups.above(each).has(group));
      const [host = ''] = path;
      const named = [group, ...within].find((each) => groups.groups.get(each)?.hosts.has(host));
      return keyPlace(top, ['groups', named ?? group, ...path]);
    },
  };
}

type NotPlaces = keyof Inventory<unknown> | 'readSecret';

/**
 * Checks the variables of each host, or those of all hosts where there is no host. Adds to the
 * placeholders and problems.
 */
function checkVariables<S extends z.ZodType>(
  { vars, groups, hosts, complete }: InventoryOutline,
  schema: S,
  open: Problem[],
  problems: Problem[],
): (z.output<S> | undefined)[] {
  problems.push(...groupsWithoutHosts(groups, hosts, vars, schema));
  return (hosts.length > 0 ? hosts : [{ vars }]).map((host) => {
    if (open.length + problems.length > enoughProblems) return undefined;
    const checked = check(schema, host.vars, !complete);
    open.push(...findPlaceholders(host.vars));
    problems.push(...checked.problems);
    return checked.data;
  });
}

/**
 * Before the values of each host are looked at, which would take minutes and gigabytes.
 *
 * @throws Problem
 */
function refuseTooMany({ vars, hosts }: InventoryOutline): void {
  const count = mostVariables(hosts, vars);
  if (count * hosts.length <= mostValues) return;
  const what = `${hosts.length} hosts with ${count} variables each are too much for one inventory`;
  throw new Problem(what, { where: vars.at });
}

/** The most variables of a host, without its own ones. */
function mostVariables(hosts: readonly OutlinedHost[], vars: Located): number {
  const counts = new Map<Located, number>();
  const countOf = (of: Located): number => {
    const count = counts.get(of) ?? [...scalars(of)].length;
    counts.set(of, count);
    return count;
  };
  const ofGroups = hosts.map(({ name, layers }) =>
    layers
      .filter((layer) => layer.hosts && layer.of !== `host ${name}`)
      .reduce((sum, layer) => sum + countOf(layer.vars), 0),
  );
  return countOf(vars) + Math.max(0, ...ofGroups);
}

/** What is wrong with the variables of groups without a host, which no host's variables hold. */
function groupsWithoutHosts(
  { groups }: InventoryOutline['groups'],
  hosts: readonly OutlinedHost[],
  all: Located,
  schema: z.ZodType,
): Problem[] {
  const used = new Set(hosts.flatMap((host) => host.groups));
  return [...groups.values()].flatMap(({ name, vars, hosts: named, children, command }) => {
    if (vars?.kind !== 'map' || used.has(name)) return [];
    const { problems } = check(schema, merge(all, vars), true);
    if (named.size + children.length > 0 || command) return problems;
    const hint = 'name its hosts or its children, or leave it out';
    return [...problems, new Problem(`group ${name} has variables and no host`, { where: vars.at, hint })];
  });
}

/**
 * The secrets that are missing for sure, without a question to anybody: variables that are not
 * set, a file of secrets that is not there.
 */
async function missingSecrets(
  { file, top, vars, hosts }: InventoryOutline,
  read: SecretReader,
): Promise<Problem[]> {
  const kinds = existsSync(secretsFileOf(file)) ? /^env:\w+$/ : /^(env:\w+|secret:\S+)$/;
  const settings = [...scalars(top)].filter(({ path }) => isSetting(path));
  const own = (hosts.length > 0 ? hosts : [{ vars }]).flatMap((host) => [...scalars(host.vars)]);
  const found = [...settings, ...own].flatMap(({ path, scalar: { value, at } }) =>
    referencesIn(value).map((reference) => ({ path, reference, at })),
  );
  const allowed = { pattern: /^/, reason: '' };
  const reading = found
    .filter(({ reference }) => kinds.test(reference))
    .map(({ path, reference, at }) =>
      read(reference, { name: pathName(path), where: at, allowed }).then(() => [], problemsIn),
    );
  return (await Promise.all(reading)).flat();
}

function duplicateAddresses({ hosts, ssh }: InventoryOutline): Problem[] {
  const seen = new Map<string, string>();
  return hosts.flatMap(({ name, own }) => {
    const address = scalarAt(own, ['address']);
    if (typeof address !== 'string' || address.includes('<FILL')) return [];
    const port = scalarAt(own, ['port']) ?? scalarAt(ssh, ['port']) ?? 22;
    const isLocal = scalarAt(own, ['connection']) === 'local';
    const key = isLocal ? 'this machine' : `${oneSpelling(address)} port ${port}`;
    const first = seen.get(key);
    seen.set(key, first ?? name);
    if (first === undefined) return [];
    return new Problem(`${name} has the same address as ${first}: ${key}`, {
      where: valuePlace(own, ['address']),
      hint: 'each host is named once',
    });
  });
}

/** Settings of a login by SSH. A password for sudo is of use without a login, too. */
const loginSettings: readonly (keyof HostSettings)[] = [
  'user',
  'port',
  'identity_file',
  'known_hosts',
  'jump',
  'client',
  'host_key',
];

/** Settings of a login of hosts with `connection: local`, which have none. */
function unusedSettings({ hosts }: InventoryOutline): Problem[] {
  const local = hosts.filter(({ own }) => scalarAt(own, ['connection']) === 'local');
  return local.flatMap(({ name, own }) => {
    const unused = loginSettings.filter((key) => valueAt(own, [key]) !== undefined);
    return unused.map(
      (key) =>
        new Problem(`${key} of ${name} has no use: connection is local, so there is no login`, {
          where: valuePlace(own, [key]),
          hint: `leave ${key} out; the run is at work on this machine, as the user who starts it`,
        }),
    );
  });
}

/**
 * One spelling for all of an address: an IPv6 address has many, and a dot at the end of a host
 * name means the same host.
 */
function oneSpelling(address: string): string {
  if (address.includes(':') && isIPv6(address) && !address.includes('%'))
    return new URL(`http://[${address}]`).hostname.slice(1, -1);
  return address.toLowerCase().replace(/\.$/, '');
}

function connectionSettings(host: HostSettings, ssh: SshSettings, file: string) {
  const beside = (path: string | undefined) => (path === undefined ? undefined : pathBeside(file, path));
  return {
    type: host.connection ?? 'ssh',
    address: host.address,
    port: host.port ?? ssh.port,
    user: host.user ?? ssh.user,
    hostKeys: [host.host_key ?? []].flat(),
    identityFile: beside(host.identity_file ?? ssh.identity_file),
    knownHostsFile: beside(host.known_hosts ?? ssh.known_hosts),
    jump: [host.jump ?? ssh.jump ?? []].flat(),
    client: host.client ?? ssh.client,
  };
}

async function becomePasswordOf(host: OutlinedHost, ssh: Located | undefined, read: SecretReader) {
  const key = ['become_password'];
  const reference = valueAt(host.own, key) ?? valueAt(ssh, key);
  if (reference?.kind !== 'scalar') return undefined;
  return read(String(reference.value), { name: 'become_password', where: reference.at });
}
