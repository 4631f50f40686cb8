import { Problem } from '../problem/problem.ts';
import { jsonFault } from '../text/json-fault.ts';
import { parseJson } from '../text/parse-json.ts';
import { type GroupTree, type OutlinedGroup, settingsOfGroup } from './group-tree.ts';
import {
  entriesAt,
  type Located,
  type LocatedEntry,
  type LocatedMap,
  pathName,
  scalarAt,
  scalars,
  valueAt,
} from './located.ts';
import { parseYaml } from './parse-yaml.ts';
import { problemsIn, throwProblems } from './problem-list.ts';
import { commandName, outputOfCommand } from './secret-reference.ts';
import { referencesIn } from './secrets-in-values.ts';
import { largestInventory } from './yaml-file.ts';

/** What commands printed, by the group whose hosts they name. */
export type SaidHosts = Readonly<Record<string, string>>;

/**
 * Runs the commands that name the hosts of groups.
 *
 * @param known what commands printed before, which do not run again
 * @throws Problems where one fails, or prints anything but a JSON object
 */
export async function askHosts({ groups }: GroupTree, known: SaidHosts = {}): Promise<SaidHosts> {
  const problems: Problem[] = [];
  const asking = [...groups.values()].map(async (group): Promise<readonly (readonly [string, string])[]> => {
    if (!group.command) return [];
    try {
      const text = Object.hasOwn(known, group.name) ? (known[group.name] ?? '') : await printed(group);
      refuseWrong(group, group.command, text);
      return [[group.name, text]];
    } catch (error) {
      problems.push(...problemsIn(error));
      return [];
    }
  });
  const said = (await Promise.all(asking)).flat();
  throwProblems(problems);
  return Object.fromEntries(said);
}

/** An inventory with the hosts that commands named, in place of the commands. */
export function withAskedHosts(top: LocatedMap, said: SaidHosts): LocatedMap {
  const groups = top.entries.get('groups');
  if (groups?.value.kind !== 'map') return top;
  const entries = [...groups.value.entries].map(([name, entry]): [string, LocatedEntry] => {
    const text = Object.hasOwn(said, name) ? said[name] : undefined;
    const command = valueAt(entry.value, ['hosts']);
    if (text === undefined || entry.value.kind !== 'map' || command?.kind !== 'scalar') return [name, entry];
    const own = [...entry.value.entries].filter(([key]) => key !== 'hosts');
    const asked = parsed(text, { text: String(command.value), at: command.at }).entries;
    return [name, { ...entry, value: { ...entry.value, entries: new Map([...own, ...asked]) } }];
  });
  const value = { ...groups.value, entries: new Map(entries) };
  return { ...top, entries: new Map([...top.entries, ['groups', { ...groups, value }]]) };
}

type Command = NonNullable<OutlinedGroup['command']>;

/** The output of a command as YAML, which JSON is, with places in the output. */
function parsed(text: string, command: Command): LocatedMap {
  return parseYaml(text, nameOf(command), command.at);
}

function commandOf({ text }: Command): string {
  return commandName(text.slice('cmd:'.length));
}

/** The name of its output, as problems show it. */
function nameOf(command: Command): string {
  return `cmd:${commandOf(command)}`;
}

async function printed({ name, command }: OutlinedGroup): Promise<string> {
  const question = { name: `groups.${name}.hosts`, where: command?.at ?? { file: name } };
  const hint =
    'try the command in a shell: it must print a JSON object of hosts, { "NAME": { "address": "…" } }, on standard output';
  const words = (command?.text ?? '').slice('cmd:'.length).trim();
  return (await outputOfCommand(words, question, largestInventory, hint)).replace(/^\uFEFF/, '');
}

/** Whether OpenTofu or Terraform printed every output, each with its type. */
function isOfAllOutputs(value: object): boolean {
  const outputs: readonly unknown[] = Object.values(value);
  const isOutput = (each: unknown) =>
    typeof each === 'object' && each !== null && 'value' in each && 'sensitive' in each && 'type' in each;
  return outputs.length > 0 && outputs.every(isOutput);
}

/**
 * @throws Problem for a text that is no JSON object of hosts
 */
function refuseOther(name: string, command: Command, text: string): void {
  const named = `the command ${commandOf(command)}`;
  const example = '{ "rpc-1": { "address": "10.0.0.21" } }';
  const fault = text.trim() === '' ? undefined : jsonFault(text);
  if (fault) {
    const { found, ...at } = fault;
    const why = found === undefined ? 'it ends here' : `${JSON.stringify(found)} stands here`;
    const hint = `the command must print one JSON object, and nothing else, on standard output: ${example}`;
    const where = { file: nameOf(command), ...at, from: command.at };
    throw new Problem(`groups.${name}.hosts: the output is not JSON: ${why}`, { where, hint });
  }
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const hint = `it names hosts with their settings: ${example}`;
    throw new Problem(`groups.${name}.hosts: ${named} does not print a JSON object`, {
      where: command.at,
      hint,
    });
  }
  if (isOfAllOutputs(value)) {
    const hint = 'name the one with the hosts: tofu output -json NAME';
    throw new Problem(`groups.${name}.hosts: ${named} prints all outputs, not the hosts`, {
      where: command.at,
      hint,
    });
  }
}

/**
 * @throws Problem, Problems
 */
function refuseWrong({ name, hosts }: OutlinedGroup, command: Command, text: string): void {
  refuseOther(name, command, text);
  const printed = parsed(text, command);
  const problems = [...printed.entries].flatMap(([host, { keyAt: where }]) => {
    if (settingsOfGroup.includes(host)) return new Problem(`no host can be called ${host}`, { where });
    if (!hosts.has(host)) return [];
    const hint = 'keep one of the two';
    return new Problem(`host ${host} is named by group ${name} in the inventory, too`, { where, hint });
  });
  // A name or label in a cloud could make a command, a file of this machine or the machine itself a value.
  const references = [...scalars(printed)].flatMap(({ path, scalar: { value, at: where } }) => {
    if (referencesIn(value).length === 0) return [];
    const hint = 'a reference has its place in the inventory, such as in the vars of the group';
    return new Problem(`${pathName(path)} is a reference to a secret, in the output of a command`, {
      where,
      hint,
    });
  });
  const ofThisMachine = [...printed.entries].flatMap(([host, { value }]) =>
    settingsOfThisMachine(host, value),
  );
  throwProblems([...problems, ...references, ...ofThisMachine]);
}

/** Settings of a host that are about the machine that runs the playbook. */
function settingsOfThisMachine(host: string, settings: Located): Problem[] {
  return [...entriesAt(settings, [])].flatMap(([key, { value }]) => {
    const isLocal = key === 'connection' && scalarAt(value, []) === 'local';
    if (!isLocal && !keyFiles.includes(key)) return [];
    const why = isLocal ? 'makes this machine a host' : 'names a file of this machine';
    const hint = isLocal
      ? 'write this host in the inventory'
      : `${key} has its place under ssh in the inventory`;
    return new Problem(`${host}.${key} ${why}, in the output of a command`, { where: value.at, hint });
  });
}

const keyFiles: readonly string[] = ['identity_file', 'known_hosts'];
