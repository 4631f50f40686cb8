import { check } from '../../engine/inventory/check.ts';
import type { InventoryHost, SourcedInventory } from '../../engine/inventory/inventory.ts';
import { locate } from '../../engine/inventory/located.ts';
import { shownValue } from '../../engine/inventory/shown-value.ts';
import type { SourcedVariable } from '../../engine/inventory/sourced-variables.ts';
import { columns } from '../../engine/output/columns.ts';
import { describePlace, Problem } from '../../engine/problem/problem.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import { type Variables, variablesSchema } from '../../node/variables/variables.ts';

/**
 * Where a variable of hosts comes from, and each one below it: the value that counts, then every
 * place that gives one, the one that counts first. Hosts with the same lines are together.
 *
 * @param key such as `ports.rpc_http`
 * @throws Problem for a key that does not exist
 */
export function explanation(
  inventory: SourcedInventory<Variables>,
  hosts: readonly InventoryHost<Variables>[],
  key: string,
): string[] {
  const path = key.split('.');
  refuseUnknown(path);
  const together = new Map<string, string[]>();
  for (const { name, vars } of hosts) {
    const given = inventory.sourcesOf(name, path).flatMap(linesOf);
    const text = [...given, ...defaultLines(vars, path, inventory.sourcesOf(name, path))].join('\n');
    together.set(text, [...(together.get(text) ?? []), name]);
  }
  return [...together].flatMap(([text, names]) => [
    names.join(', '),
    ...text.split('\n').map((line) => `  ${line}`),
  ]);
}

function linesOf({ name, sources }: SourcedVariable): string[] {
  const [{ shown }] = sources;
  const rows = sources.map((source, at) => [
    source.of,
    describePlace(source.where),
    at > 0 && source.shown !== shown ? source.shown : '',
  ]);
  return [`${name}: ${shown}`, ...columns(rows, 2).map((line) => `  ${line}`)];
}

/** Lines for the variables that no place of the inventory gives. */
function defaultLines(vars: unknown, path: readonly string[], given: readonly SourcedVariable[]): string[] {
  const value = path.reduce<unknown>((inner, step) => fieldsOf(inner)[step], vars);
  const known = new Set(given.map(({ name }) => name));
  const found = [...leaves(value, path)].filter(([name]) => !known.has(name));
  if (given.length + found.length === 0) return [`${path.join('.')}: not set, and without a default`];
  return found.flatMap(([name, text]) => [`${name}: ${text}`, '  default']);
}

function* leaves(value: unknown, path: readonly string[]): Generator<readonly [string, string]> {
  if (value === undefined) return;
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Secret)
    yield [path.join('.'), shownValue(path, value instanceof Secret ? String(value) : value)];
  else for (const [key, inner] of Object.entries(value)) yield* leaves(inner, [...path, key]);
}

/** The schema of the variables says what it does not know. */
function refuseUnknown(path: readonly string[]): void {
  const key = path.join('.');
  if (path.includes('')) throw new Problem(`"${key}" is no key`, { hint: 'such as ports or ports.rpc_http' });
  const where = { file: `--explain ${key}` };
  const nested = path.reduceRight<unknown>((inner, step) => ({ [step]: inner }), null);
  for (const { message, hint } of check(variablesSchema, locate(nested, where), true).problems) {
    if (message.startsWith('unknown key')) throw new Problem(message, { where, hint });
    const [above = ''] = message.split(' ', 1);
    if (key.startsWith(`${above}.`) && message.endsWith(', not a mapping'))
      throw new Problem(`${above} is one value, without keys below it`, { where });
  }
}
