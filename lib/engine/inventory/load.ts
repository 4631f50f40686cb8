import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as z from 'zod';
import { exitCode, type Place, Problem, Problems } from '../problem/problem.ts';
import type { Secret } from '../secret/secret.ts';
import { secretsFileOf } from '../secret/secrets-file.ts';
import { type Unlock, unlocker } from '../secret/unlock.ts';
import { didYouMean } from '../text/suggest.ts';
import type { Inventory, InventoryHost } from './inventory.ts';
import { missingKeyFiles } from './key-files.ts';
import {
  keyPlace,
  type Located,
  type LocatedMap,
  merge,
  type Path,
  place,
  plain,
  scalars,
  valueAt,
  valuePlace,
} from './located.ts';
import { hintForLab, pathFrom, shown } from './paths.ts';
import { findPlaceholders } from './placeholders.ts';
import { inventorySchema } from './schema.ts';
import { problemsOf } from './schema-words.ts';
import { readSecret, type SecretQuestion } from './secret-reference.ts';
import { readYamlFile } from './yaml-file.ts';

export interface LoadOptions {
  /** Folder of the inventories that are called by name. Default: `inventory` at the project root. */
  readonly folder?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Opens the file of secrets, when a reference needs it. Default: with the keys at hand, asking for nothing. */
  readonly unlock?: Unlock;
  /** Variables that outrank all of the inventory's, for every host; of two the later wins. */
  readonly over?: readonly VariablesOver[];
  /** Whether its hosts are to be connected to: then the files of keys that it names have to be there. Default: false. */
  readonly connects?: boolean;
}

/** Variables from outside an inventory. */
export interface VariablesOver {
  readonly values: Readonly<Record<string, unknown>>;
  /** What an operator wrote them in, for problems: `--diff older`. */
  readonly from: string;
}

/** An inventory that can still say where each of its values stands. */
export interface LoadedInventory<V> extends Inventory<V> {
  /** Where a host's variable stands: in the host's own `vars`, in `vars`, or in a file of variables. */
  placeOf(host: string, path: Path): Place;
  /** Where a variable's name stands. */
  placeOfKey(host: string, path: Path): Place;
  /** Whether a host's own `vars` say it, and not only those of all hosts. */
  saysItself(host: string, path: Path): boolean;
  /** Where a group's name stands, or `groups` where there is no such group. */
  placeOfGroup(group: string): Place;
  /** Reads the secret that one of its references names. @throws Problem, Problems as readSecret does */
  readSecret(reference: string, question: Omit<SecretQuestion, 'environment' | 'secrets'>): Promise<Secret>;
}

const inventoryFolder = fileURLToPath(new URL('../../../inventory', import.meta.url));

/** Values that are looked at, those of all hosts once for each host: a thousand hosts of our own schema have a tenth of it. */
const mostValues = 2_000_000;
/** Far more than anybody is shown: then no further host is looked at. */
const enoughProblems = 1000;

type Raw = z.output<typeof inventorySchema>;
type RawHost = Raw['groups'][string][string];

/**
 * Reads and checks one inventory.
 *
 * @param nameOrFile `lab` for inventory/lab.yaml, or a path (with a / or ending in .yaml or .yml)
 * @param schema of the variables of one host, after merging: files of variables, `vars`, the host's own `vars`
 * @throws Problem or Problems: everything that is wrong with it at once, each with its place; values left open come first
 */
export async function loadInventory<S extends z.ZodType>(
  nameOrFile: string,
  schema: S,
  options: LoadOptions = {},
): Promise<LoadedInventory<z.output<S>>> {
  const file = await find(nameOrFile, options.folder ?? inventoryFolder);
  const top = await read(file);

  const open = findPlaceholders(reachPart(top), label).map(({ problem }) => problem);
  const parsed = inventorySchema.safeParse(plain(top));
  const problems = parsed.success ? [] : problemsOf(parsed.error.issues, top, inventorySchema, label);

  const unread = problems.length;
  const baseVars = await variables(top, file, problems);
  const complete = problems.length === unread;
  const hosts = hostsOf(top, problems);
  problems.push(...duplicates(hosts));
  if (options.connects) {
    const located = hosts.map((host) => host.located);
    problems.push(...missingKeyFiles(file, valueAt(top, ['ssh']), located));
  }

  const over = (options.over ?? [])
    .map(({ values, from }) => place(values, { file: from }))
    .reduce<Located | undefined>(merge, undefined);
  const all = hosts.map((host) => ({ ...host, vars: merge(varsOf(baseVars, host.located), over) ?? baseVars }));
  const sets = all.length > 0 ? all.map(({ vars }) => vars) : [baseVars];
  const size = [...scalars(baseVars)].length;
  if (size * sets.length > mostValues) {
    throw new Problem(`${hosts.length} hosts with ${size} variables each are too much for one inventory`, {
      where: baseVars.at,
    });
  }
  const values = sets.map((vars) => {
    if (open.length + problems.length > enoughProblems) return undefined;
    const unfilled = findPlaceholders(vars, label).map(({ problem }) => problem);
    open.push(...unfilled);
    const result = schema.safeParse(plain(vars));
    if (!result.success)
      problems.push(
        ...problemsOf(complete ? result.error.issues : present(result.error.issues, vars), vars, schema, label),
      );
    return result.success ? result.data : undefined;
  });
  throwAny(open, problems);

  const { environment = process.env, unlock = unlocker({ environment }) } = options;
  const readOwn: LoadedInventory<unknown>['readSecret'] = (reference, question) =>
    readSecret(reference, { ...question, environment, secrets: { file: secretsFileOf(file), unlock } });

  const raw = parsed.data as Raw;
  const reached = await Promise.allSettled(
    all.map(async ({ name, group, located }, i): Promise<InventoryHost<z.output<S>>> => {
      const rawHost = raw.groups[group]?.[name] as RawHost;
      return {
        name,
        groups: [group],
        connection: await connectionSettingsOf(rawHost, raw.ssh, {
          file,
          located,
          ssh: valueAt(top, ['ssh']),
          name,
          readSecret: readOwn,
        }),
        vars: values[i] as z.output<S>,
      };
    }),
  );
  throwAny(
    [],
    reached.flatMap((result) => (result.status === 'rejected' ? asProblems(result.reason) : [])),
  );

  const varsByHost = new Map(all.map(({ name, vars }) => [name, vars]));
  const placedByHost = new Map(all.map(({ name, located }) => [name, located]));
  return {
    name: nameOf(file),
    file,
    hosts: reached.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
    placeOf: (host, path) => valuePlace(varsByHost.get(host) ?? top, path),
    placeOfKey: (host, path) => keyPlace(varsByHost.get(host) ?? top, path),
    saysItself: (host, path) => valueAt(placedByHost.get(host), ['vars', ...path]) !== undefined,
    placeOfGroup: (group) => keyPlace(top, ['groups', group]),
    readSecret: readOwn,
  };
}

/** What an inventory says as far as it is filled in, unchecked: values and their places. */
export interface InventoryOutline {
  readonly name: string;
  readonly file: string;
  readonly ssh: Located | undefined;
  /** Variables of all hosts. */
  readonly vars: Located;
  readonly hosts: readonly OutlinedHost[];
}

export interface OutlinedHost {
  readonly name: string;
  readonly group: string;
  /** What stands under its name: how it is reached. */
  readonly own: Located;
  /** Its variables, merged. */
  readonly vars: Located;
}

/**
 * Reads an inventory that need not be complete, as that of somebody who only begins. A file of variables that cannot be read is
 * left out.
 *
 * @throws Problem or Problems where there is no such file, or it is no YAML
 */
export async function outlineInventory(
  nameOrFile: string,
  { folder }: Pick<LoadOptions, 'folder'> = {},
): Promise<InventoryOutline> {
  const file = await find(nameOrFile, folder ?? inventoryFolder);
  const top = await read(file);
  const vars = await variables(top, file, []);
  return {
    name: nameOf(file),
    file,
    ssh: valueAt(top, ['ssh']),
    vars,
    hosts: hostsOf(top, []).map(({ name, group, located }) => ({
      name,
      group,
      own: located,
      vars: varsOf(vars, located),
    })),
  };
}

function nameOf(file: string): string {
  return basename(file).replace(/\.ya?ml$/, '');
}

/** A path as problems call it: `network.l1_rpc_url`. */
function label(path: Path): string {
  return path.map(String).join('.').replaceAll('\n', '\\n');
}

async function find(nameOrFile: string, folder: string): Promise<string> {
  const isPath = /[/\\]/.test(nameOrFile) || /\.ya?ml$/.test(nameOrFile);
  const path = isPath ? resolve(nameOrFile) : join(folder, `${nameOrFile}.yaml`);
  if (nameOrFile !== '' && existsSync(path)) return shown(path);
  if (isPath) throw new Problem(`inventory ${nameOrFile} does not exist`);
  const files = await readdir(folder).catch(() => []);
  const names = files.filter((name) => name.endsWith('.yaml')).map((name) => name.replace(/\.yaml$/, ''));
  throw new Problem(`there is no inventory called "${nameOrFile}": ${shown(path)} does not exist`, {
    hint: didYouMean(nameOrFile, names),
  });
}

async function read(file: string, from?: Place): Promise<LocatedMap> {
  try {
    return await readYamlFile(file);
  } catch (error) {
    if (error instanceof Problem || error instanceof Problems) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT'
        ? 'does not exist'
        : code === 'EISDIR'
          ? 'is a folder'
          : `cannot be read (${code ?? 'unknown error'})`;
    throw new Problem(`${file} ${why}`, { where: from, hint: code === 'ENOENT' ? hintForLab(file) : undefined });
  }
}

/** Everything but the variables: they are looked through once for each host, merged. */
function reachPart(top: LocatedMap): LocatedMap {
  const withoutVars = (map: Located): Located =>
    map.kind === 'map' ? { ...map, entries: new Map([...map.entries].filter(([key]) => key !== 'vars')) } : map;
  const entries = new Map(withoutVars(top).kind === 'map' ? (withoutVars(top) as LocatedMap).entries : []);
  const groups = entries.get('groups');
  if (groups?.value.kind === 'map') {
    const inner = [...groups.value.entries].map(([name, group]): [string, typeof group] => {
      if (group.value.kind !== 'map') return [name, group];
      const hosts = [...group.value.entries].map(([host, entry]): [string, typeof entry] => [
        host,
        { ...entry, value: withoutVars(entry.value) },
      ]);
      return [name, { ...group, value: { ...group.value, entries: new Map(hosts) } }];
    });
    entries.set('groups', { ...groups, value: { ...groups.value, entries: new Map(inner) } });
  }
  return { ...top, entries };
}

/** The files of variables in order, then `vars` over them. */
async function variables(top: LocatedMap, file: string, problems: Problem[]): Promise<Located> {
  const named = valueAt(top, ['vars_files']);
  const names = named?.kind === 'list' ? named.items : [];
  let merged: Located | undefined;
  for (const item of names) {
    if (item.kind !== 'scalar' || typeof item.value !== 'string' || item.value === '') continue;
    try {
      merged = merge(merged, await read(shown(resolve(dirname(file), item.value)), item.at));
    } catch (error) {
      problems.push(...asProblems(error));
    }
  }
  const own = valueAt(top, ['vars']);
  const vars = own?.kind === 'map' ? { ...own, at: keyPlace(top, ['vars']) } : undefined;
  return merge(merged, vars) ?? { kind: 'map', at: keyPlace(top, ['vars']), entries: new Map() };
}

/** Where a file of variables could not be read, what it would have said is not missing. */
function present(issues: readonly z.core.$ZodIssue[], vars: Located): z.core.$ZodIssue[] {
  return issues.filter(({ path }) => valueAt(vars, path) !== undefined);
}

interface FoundHost {
  readonly name: string;
  readonly group: string;
  readonly keyAt: Place;
  readonly located: LocatedMap;
}

/** Hosts in the order of the file; JavaScript objects would put numbers first. */
function hostsOf(top: LocatedMap, problems: Problem[]): FoundHost[] {
  const groups = valueAt(top, ['groups']);
  if (groups?.kind !== 'map') return [];
  const hosts: FoundHost[] = [];
  const byName = new Map<string, FoundHost>();
  for (const [group, { value }] of groups.entries) {
    if (value.kind !== 'map') continue;
    for (const [name, entry] of value.entries) {
      const known = byName.get(name);
      if (name === 'all' || groups.entries.has(name)) {
        problems.push(
          new Problem(
            `no host can be called ${name}: in a host pattern that means ${name === 'all' ? 'all hosts' : 'the group'}`,
            {
              where: entry.keyAt,
            },
          ),
        );
      } else if (known) {
        problems.push(
          new Problem(`host ${name} stands here a second time; the first is in group ${known.group}`, {
            where: entry.keyAt,
          }),
        );
      } else if (entry.value.kind === 'map') {
        const host = { name, group, keyAt: entry.keyAt, located: entry.value };
        hosts.push(host);
        byName.set(name, host);
      }
    }
  }
  return hosts;
}

function duplicates(hosts: readonly FoundHost[]): Problem[] {
  const seen = new Map<string, string>();
  return hosts.flatMap(({ name, located }) => {
    const address = valueAt(located, ['address']);
    const port = valueAt(located, ['port']);
    if (address?.kind !== 'scalar' || typeof address.value !== 'string' || address.value.includes('<FILL')) return [];
    const key = `${address.value.toLowerCase()} port ${port?.kind === 'scalar' ? port.value : 22}`;
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, name);
      return [];
    }
    return [
      new Problem(`${name} has the same address as ${first}: ${key}`, {
        where: address.at,
        hint: 'each host is named once',
      }),
    ];
  });
}

/** Variables of one host: all hosts' with its own over them, and its `region`. */
function varsOf(base: Located, host: LocatedMap): Located {
  const region = host.entries.get('region');
  const short: Located | undefined = region && { kind: 'map', at: host.at, entries: new Map([['region', region]]) };
  const own = valueAt(host, ['vars']);
  const over = merge(short, own?.kind === 'map' ? own : undefined);
  const merged = merge(base, over) ?? base;
  return merged.kind === 'map' ? { ...merged, at: base.at } : base;
}

interface ConnectionSource {
  readonly file: string;
  readonly name: string;
  readonly located: LocatedMap;
  readonly ssh: Located | undefined;
  readonly readSecret: LoadedInventory<unknown>['readSecret'];
}

async function connectionSettingsOf(
  host: RawHost,
  ssh: Raw['ssh'],
  source: ConnectionSource,
): Promise<InventoryHost<unknown>['connection']> {
  const become = host.become_password ?? ssh?.become_password;
  const located = host.become_password === undefined ? source.ssh : source.located;
  return {
    type: host.connection ?? 'ssh',
    address: host.address,
    port: host.port ?? ssh?.port,
    user: host.user ?? ssh?.user,
    hostKeys: several(host.host_key),
    identityFile: pathFrom(source.file, host.identity_file ?? ssh?.identity_file),
    knownHostsFile: pathFrom(source.file, host.known_hosts ?? ssh?.known_hosts),
    jump: several(host.jump ?? ssh?.jump),
    becomePassword:
      become === undefined || located === undefined
        ? undefined
        : await source.readSecret(become, {
            name: 'become_password',
            where: valuePlace(located, ['become_password']),
          }),
  };
}

function several(value: string | string[] | undefined): readonly string[] {
  return value === undefined ? [] : [value].flat();
}

function asProblems(error: unknown): readonly Problem[] {
  if (error instanceof Problems) return error.problems;
  if (error instanceof Problem && error.code !== exitCode.interrupted) return [error];
  throw error;
}

/** Values left open first, then the rest in the order of files and lines; nothing twice, and nothing else about an open value. */
function throwAny(open: readonly Problem[], others: readonly Problem[]): void {
  const key = ({ where }: Problem): string => `${where?.file}:${where?.line}:${where?.column}`;
  const isOpen = new Set<string>();
  const seen = new Set<string>();
  const all = [
    ...sorted(open).filter((problem) => !isOpen.has(key(problem)) && isOpen.add(key(problem))),
    ...sorted(others.filter((problem) => !isOpen.has(key(problem)))),
  ].filter((problem) => {
    const id = `${key(problem)} ${problem.message}`;
    return !seen.has(id) && seen.add(id);
  });
  if (all.length > 0) throw new Problems(all);
}

function sorted(problems: readonly Problem[]): Problem[] {
  const order = ({ where }: Problem): [string, number, number] => [
    where?.file ?? '',
    where?.line ?? 0,
    where?.column ?? 0,
  ];
  return [...problems].sort((a, b) => {
    const [fileA, lineA, columnA] = order(a);
    const [fileB, lineB, columnB] = order(b);
    return fileA.localeCompare(fileB) || lineA - lineB || columnA - columnB;
  });
}
