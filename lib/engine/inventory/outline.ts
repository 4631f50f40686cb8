import { existsSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { hintOfUnread, readBounded, whyUnread } from '../file/bounded-file.ts';
import { pathBeside } from '../file/private-file.ts';
import { shown } from '../file/shown-path.ts';
import { type Place, Problem, Problems } from '../problem/problem.ts';
import { errorCode } from '../text/error-code.ts';
import { shellWord } from '../text/shell-word.mjs';
import { didYouMean } from '../text/suggest.ts';
import { type SaidHosts, withAskedHosts } from './asked-hosts.ts';
import { type GroupTree, groupTree } from './group-tree.ts';
import {
  type Layer,
  type OutlinedHost,
  overlay,
  type SharedLayers,
  withVariables,
} from './host-variables.ts';
import { entriesAt, keyPlace, type Located, type LocatedMap, locate, valueAt } from './located.ts';
import { hostsOf } from './outlined-hosts.ts';
import { problemsIn } from './problem-list.ts';
import { ansibleInventory, largestInventory, readYamlFile } from './yaml-file.ts';

export interface OutlineOptions {
  /** Folder of the inventories with a name. Default: an inventory is a path. */
  readonly folder?: string;
  /**
   * Variables that override all of the inventory's, for every host; later ones override earlier
   * ones.
   */
  readonly over?: readonly VariablesOver[];
  /** What commands printed about hosts. Default: they have not run, and their hosts are missing. */
  readonly said?: SaidHosts;
  /** What to do about a missing file that the inventory names. */
  readonly missingFileHint?: (path: string) => string | undefined;
}

/** Variables from outside an inventory. */
export interface VariablesOver {
  readonly values: Readonly<Record<string, unknown>>;
  /** Their source, for problems: `--diff older`. */
  readonly from: string;
}

/** The content of an inventory, unchecked: values with their places. It may be incomplete. */
export interface InventoryOutline {
  /** `lab` for inventory/lab.yaml. */
  readonly name: string;
  readonly file: string;
  readonly top: LocatedMap;
  readonly ssh: Located | undefined;
  /** Variables of all hosts. */
  readonly vars: Located;
  readonly groups: GroupTree;
  /** In the order of the file. */
  readonly hosts: readonly OutlinedHost[];
  /**
   * Duplicate hosts, groups that contradict each other, and files of variables that could not be
   * read.
   */
  readonly problems: readonly Problem[];
  /** Whether all files of variables could be read. */
  readonly complete: boolean;
}

/**
 * Reads an inventory without checking it, for example one that is not filled in yet.
 *
 * @param nameOrFile `lab` for inventory/lab.yaml, or a path (with a / or ending in .yaml or .yml)
 * @throws Problem or Problems where the file does not exist or is not valid YAML
 */
export async function outlineInventory(
  nameOrFile: string,
  options: OutlineOptions = {},
): Promise<InventoryOutline> {
  const file = await findInventory(nameOrFile, options.folder);
  const top = withAskedHosts(await read(file), options.said ?? {});
  if (top.entries.has('all') && !top.entries.has('groups')) throw ansibleInventory(keyPlace(top, ['all']));
  const { problems: unread, ...shared } = await variablesOfAll(top, file, options);
  const groups = groupTree(top);
  const { hosts: named, problems: wrong } = hostsOf(groups);
  const { hosts, problems } = withVariables(named, groups, shared);
  return {
    name: basename(file).replace(/\.ya?ml$/, ''),
    file,
    top,
    ssh: valueAt(top, ['ssh']),
    vars: shared.vars,
    groups,
    hosts,
    problems: [...unread, ...groups.problems, ...wrong, ...problems],
    complete: unread.length === 0,
  };
}

/**
 * Whether an inventory is given by its path, and not by its name. One of Ansible, and TOML, is read
 * to be refused as such.
 */
export function isInventoryPath(nameOrFile: string): boolean {
  return /[/\\]|\.(ya?ml|ini|toml)$/.test(nameOrFile);
}

async function findInventory(nameOrFile: string, folder: string | undefined): Promise<string> {
  const isPath = folder === undefined || isInventoryPath(nameOrFile);
  const path = isPath ? resolve(nameOrFile) : join(folder, `${nameOrFile}.yaml`);
  if (nameOrFile !== '' && existsSync(path)) return shown(path);
  if (/^[^/]+,/.test(nameOrFile)) {
    throw new Problem(`"${nameOrFile}" is a list of hosts, and an inventory is a file`, {
      hint: 'copy inventory/testnet.yaml and fill in the hosts; --limit chooses some of them',
    });
  }
  const hint = alike(path, folder);
  if (isPath) throw new Problem(`inventory ${nameOrFile} ${absence(path)}`, { hint });
  const isFileHere = existsSync(nameOrFile) && statSync(nameOrFile).isFile();
  throw new Problem(`there is no inventory called "${nameOrFile}": ${shown(path)} ${absence(path)}`, {
    hint: isFileHere
      ? `for the file of this name: --inventory ./${nameOrFile}`
      : (hint ?? didYouMean(nameOrFile, inventoryNames(folder))),
  });
}

/** An inventory of this name with another ending, or in the folder of inventories. */
function alike(path: string, folder = ''): string | undefined {
  const name = basename(path).replace(/\.ya?ml$/, '');
  const files = [dirname(path), folder].flatMap((at) =>
    ['yaml', 'yml'].map((ending) => join(at, `${name}.${ending}`)),
  );
  const found = name === '' ? undefined : files.find((file) => existsSync(file));
  return found && `did you mean --inventory ${shellWord(shown(found))}?`;
}

/** The names of the inventories in a folder: of its YAML files, those with a key `groups`. */
export function inventoryNames(folder: string): string[] {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const names = files.flatMap((file) => /^(.+)\.yaml$/.exec(file)?.[1] ?? []).sort();
  return names.filter((name) => {
    try {
      const file = join(folder, `${name}.yaml`);
      return /^[\s{"']*groups["']?\s*:/m.test(readBounded(file, largestInventory).toString('utf8'));
    } catch {
      return false;
    }
  });
}

/** The reason why a path leads to no file. */
function absence(path: string): string {
  try {
    statSync(path);
  } catch (error) {
    return whyUnread(error);
  }
  return 'does not exist';
}

async function read(
  file: string,
  from?: Place,
  { missingFileHint }: OutlineOptions = {},
): Promise<LocatedMap> {
  try {
    return await readYamlFile(file);
  } catch (error) {
    if (error instanceof Problem || error instanceof Problems) throw error;
    const hint = errorCode(error) === 'ENOENT' ? missingFileHint?.(file) : hintOfUnread(error);
    throw new Problem(`${file} ${whyUnread(error)}`, { where: from, hint });
  }
}

/** The files of variables in their order, then `vars` over them; and those over all others. */
async function variablesOfAll(
  top: LocatedMap,
  file: string,
  options: OutlineOptions,
): Promise<SharedLayers & { readonly problems: readonly Problem[] }> {
  const at = keyPlace(top, ['vars']);
  const problems: Problem[] = [];
  const all: Layer[] = [];
  const names = valueAt(top, ['vars_files']);
  for (const item of names?.kind === 'list' ? names.items : []) {
    if (item.kind !== 'scalar' || typeof item.value !== 'string' || item.value === '') continue;
    const path = shown(pathBeside(file, item.value));
    const found = await read(path, item.at, options).catch(
      (error) => void problems.push(...problemsIn(error)),
    );
    const groups = found?.entries.get('groups');
    // Otherwise each of its keys would be reported as an unknown variable.
    if (groups) {
      const hint = 'a file of vars_files holds variables only, as they are under vars';
      problems.push(new Problem(`${path} is an inventory: it has groups`, { where: groups.keyAt, hint }));
    } else if (found) all.push({ of: 'vars_files', hosts: undefined, vars: found });
  }
  const own: LocatedMap = { kind: 'map', at, entries: entriesAt(top, ['vars']) };
  all.push({ of: 'vars', hosts: undefined, vars: own });
  const merged = overlay(all.map(({ vars }) => vars));
  const over = (options.over ?? []).map(({ values, from }) => ({
    of: from,
    hosts: undefined,
    vars: locate(values, { file: from }),
  }));
  return { all, vars: { ...own, entries: entriesAt(merged, []) }, over, problems };
}
