import { isDeepStrictEqual } from 'node:util';
import { type Outline, outlineOf } from '../../../engine/template/leaves.ts';
import type { Override } from '../../../engine/template/override.ts';
import { suggest } from '../../../engine/text/suggest.ts';
import { type FileName, generations } from '../../variables/generation.ts';
import type { RawVariables, Variables } from '../../variables/variables.ts';
import { templateOf } from '../templates.ts';
import { sources } from '../values.ts';
import { refusal } from './values.ts';

/** The variables that hold overrides, and the files that they are laid over. */
export const overridden = { node_config: 'node.config.toml', prover_config: 'prover.config.json' } as const;

type OverrideName = keyof typeof overridden;
const names = Object.keys(overridden) as OverrideName[];

/** A key that the template does not have. The node takes any key without a word, so a misspelt one must not pass for a new one. */
const newMark = '+';
const newName = /^[A-Za-z][A-Za-z0-9_-]*$/;

/** Something wrong with an override. */
export interface OverrideFault {
  /** In the variables: `['node_config', 'RPC', 'Prot']`. */
  readonly path: readonly string[];
  /** Whether it is the key that is wrong, or its value. */
  readonly at: 'key' | 'value';
  readonly what: string;
  readonly hint?: string | undefined;
}

/** The overrides for one file. They have been checked when the inventory was loaded. */
export function overridesFor(vars: Pick<Variables, OverrideName | 'generation'>, file: FileName): Override[] {
  const name = names.find((each) => overridden[each] === file);
  if (!name) return [];
  return read(vars, name).overrides;
}

/** All that is wrong with a host's overrides. */
export function overrideFaults(vars: Pick<RawVariables, OverrideName | 'generation'>): OverrideFault[] {
  return names.flatMap((name) => {
    const { faults, overrides } = read(vars, name);
    return [...faults, ...samePorts(vars, name, overrides)];
  });
}

/** What stands in a template that overrides are laid over. */
export function overridable(generation: Variables['generation'], name: OverrideName): Outline {
  const { text, source } = templateOf(generation, overridden[name]);
  return outlineOf(text, source);
}

interface Reading {
  readonly overrides: Override[];
  readonly faults: OverrideFault[];
}

function read(vars: Pick<RawVariables, OverrideName | 'generation'>, name: OverrideName): Reading {
  const reading: Reading = { overrides: [], faults: [] };
  const given = vars[name];
  if (Object.keys(given).length === 0) return reading;
  const outline = overridable(vars.generation, name);
  const walk = (map: Readonly<Record<string, unknown>>, above: readonly string[], written: readonly string[]): void => {
    const inNew = above.length > 0 && !isSection(outline, above);
    const known = keysBelow(outline, above);
    const met = new Map<string, string>();
    for (const [key, value] of Object.entries(map)) {
      const at = [...written, key];
      const fault = (what: string, hint?: string, where: OverrideFault['at'] = 'key') =>
        reading.faults.push({ path: at, at: where, what: `${at.join('.')} ${what}`, hint });
      const isNew = inNew || key.startsWith(newMark);
      const own = key.startsWith(newMark) ? key.slice(1) : key;
      const path = [...above, own];
      const leaf = outline.leaves.find((each) => isDeepStrictEqual(each.path, path));
      const twin = known.find((other) => other.toLowerCase() === own.toLowerCase());
      const earlier = met.get(sameTo(name, own));
      met.set(sameTo(name, own), earlier ?? key);

      if (isNew && twin !== undefined) {
        fault(`is there already, as ${twin}`, `write it without ${newMark} and as it is spelt there`);
      } else if (isNew && earlier !== undefined) {
        fault(`is there already, as ${earlier}`, 'keep one of the two');
      } else if (isNew && !newName.test(own)) {
        fault('is not a name for a key', 'a name starts with a letter; letters, digits, _ and - follow');
      } else if (!isNew && !leaf && !isSection(outline, path)) {
        fault('is not a key of the template', unknownHint(vars.generation, name, path, known));
      } else if (isMap(value)) {
        if (leaf) fault(`must be ${leaf.kind === 'list' ? 'a list' : 'one value'}, not a mapping`, undefined, 'value');
        else if (name === 'prover_config')
          fault("must be one value: the prover's configuration is flat", undefined, 'value');
        else if (isNew && Object.keys(value).length === 0)
          fault('is a new section with no key in it', undefined, 'value');
        else walk(value, path, at);
      } else if (isSection(outline, path)) {
        fault('must be a mapping of keys', undefined, 'value');
      } else {
        const from = leaf?.slots.map((slot) => sources[slot as keyof typeof sources].from);
        const why = from?.length ? undefined : refusal(path, value, leaf);
        if (from?.length) fault(`comes from ${from.join(' and ')}`, 'change it there, so that all that use it follow');
        else if (why) fault(why.what, why.hint, 'value');
        else reading.overrides.push({ path, value: withoutMinusZero(value as Override['value']) });
      }
    }
  };
  walk(given, [], [name]);
  return reading;
}

/** The node takes keys that differ only in case for one, and one of their values is lost. The prover tells them apart. */
function sameTo(name: OverrideName, key: string): string {
  return name === 'node_config' ? key.toLowerCase() : key;
}

/** Files have no -0. */
function withoutMinusZero(value: Override['value']): Override['value'] {
  const plain = <T>(one: T) => (one === 0 ? 0 : one);
  return typeof value === 'object' ? value.map(plain) : plain(value);
}

function isSection({ leaves, sections }: Outline, path: readonly string[]): boolean {
  return (
    leaves.some((leaf) => leaf.path.length > path.length && startsWith(leaf.path, path)) ||
    sections.some((section) => startsWith(section.path, path))
  );
}

function keysBelow({ leaves, sections }: Outline, path: readonly string[]): readonly string[] {
  const deeper = [...leaves, ...sections].filter(
    (each) => each.path.length > path.length && startsWith(each.path, path),
  );
  return [...new Set(deeper.map((each) => each.path[path.length] ?? ''))];
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((key, i) => path[i] === key);
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unknownHint(
  generation: Variables['generation'],
  name: OverrideName,
  path: readonly string[],
  known: readonly string[],
): string {
  const others = (Object.keys(generations) as Variables['generation'][]).filter((each) => each !== generation);
  const other = others.find((each) => overridable(each, name).leaves.some((leaf) => startsWith(leaf.path, path)));
  const key = path.at(-1) ?? '';
  const ifNew = `a key that the template does not have is written ${newMark}${key}`;
  if (other) return `it is a key of the ${other} generation; ${ifNew}`;
  const meant = suggest(key, known);
  if (meant !== undefined) return `did you mean ${meant}? ${ifNew}`;
  return known.length > 0 ? `known here: ${known.join(', ')}; ${ifNew}` : ifNew;
}

/** Ports that one program listens on, each with the key that switches that part on: two alike, and it does not start. */
const listening: Readonly<Record<OverrideName, Readonly<Record<string, string | undefined>>>> = {
  node_config: {
    'RPC.Port': undefined,
    'RPC.WebSockets.Port': 'RPC.WebSockets.Enabled',
    'Metrics.Port': 'Metrics.Enabled',
    'Metrics.ProfilingPort': 'Metrics.ProfilingEnabled',
  },
  prover_config: {
    executorServerPort: 'runExecutorServer',
    hashDBServerPort: 'runHashDBServer',
    aggregatorServerPort: 'runAggregatorServer',
  },
};

function samePorts(
  vars: Pick<RawVariables, 'generation'>,
  name: OverrideName,
  overrides: readonly Override[],
): OverrideFault[] {
  if (overrides.length === 0) return [];
  const { leaves } = overridable(vars.generation, name);
  const own = (key: string) => overrides.find(({ path }) => path.join('.') === key)?.value;
  const now = (key: string) => own(key) ?? leaves.find(({ path }) => path.join('.') === key)?.text;
  const ports = Object.entries(listening[name])
    .filter(([, isOn]) => isOn === undefined || String(now(isOn)) === 'true')
    .map(([key]) => ({ key, port: Number(String(now(key)).replaceAll('_', '')) }));
  return ports.flatMap(({ key, port }) => {
    const other = ports.find((each) => each.port === port && each.key !== key);
    if (own(key) === undefined || !other) return [];
    const path = [name, ...key.split('.')];
    return [{ path, at: 'value' as const, what: `${path.join('.')} is ${port}, as ${other.key} is` }];
  });
}
