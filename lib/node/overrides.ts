import { isDeepStrictEqual } from 'node:util';
import { suggest } from '../inventory/suggest.ts';
import type { Leaf } from '../template/leaves.ts';
import { leavesOf } from '../template/leaves.ts';
import type { Override } from '../template/override.ts';
import { type FileName, generations } from './generation.ts';
import { refusal } from './override-values.ts';
import { templateOf } from './templates.ts';
import { sources } from './values.ts';
import type { RawVariables, Variables } from './variables.ts';

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

/** The values of a template that overrides are laid over. */
export function overridable(generation: Variables['generation'], name: OverrideName): readonly Leaf[] {
  const { text, source } = templateOf(generation, overridden[name]);
  return leavesOf(text, source);
}

interface Reading {
  readonly overrides: Override[];
  readonly faults: OverrideFault[];
}

function read(vars: Pick<RawVariables, OverrideName | 'generation'>, name: OverrideName): Reading {
  const reading: Reading = { overrides: [], faults: [] };
  const given = vars[name];
  if (Object.keys(given).length === 0) return reading;
  const leaves = overridable(vars.generation, name);
  const walk = (map: Readonly<Record<string, unknown>>, above: readonly string[], written: readonly string[]): void => {
    for (const [key, value] of Object.entries(map)) {
      const at = [...written, key];
      const inNew = above.length > 0 && !below(leaves, above).length;
      const fault = (what: string, hint?: string, where: OverrideFault['at'] = 'key') =>
        reading.faults.push({ path: at, at: where, what: `${at.join('.')} ${what}`, hint });
      const isNew = inNew || key.startsWith(newMark);
      const path = [...above, key.startsWith(newMark) ? key.slice(1) : key];
      const leaf = leaves.find((each) => isDeepStrictEqual(each.path, path));
      const isSection = below(leaves, path).length > 0;
      const known = below(leaves, above).map((each) => each.path[above.length] ?? '');
      const twin = known.find((other) => other.toLowerCase() === path.at(-1)?.toLowerCase());

      if (isNew && twin !== undefined) {
        fault(`is there already, as ${twin}`, `write it without ${newMark} and as it is spelt there`);
      } else if (isNew && !newName.test(path.at(-1) ?? '')) {
        fault('is not a name for a key', 'a name starts with a letter; letters, digits, _ and - follow');
      } else if (!isNew && !leaf && !isSection) {
        fault('is not a key of the template', unknownHint(vars.generation, name, path, [...new Set(known)]));
      } else if (isMap(value)) {
        if (leaf) fault(`must be ${leaf.kind === 'list' ? 'a list' : 'one value'}, not a mapping`, undefined, 'value');
        else if (name === 'prover_config')
          fault("must be one value: the prover's configuration is flat", undefined, 'value');
        else walk(value, path, at);
      } else if (isSection) {
        fault('must be a mapping of keys', undefined, 'value');
      } else {
        const from = leaf?.slots.map((slot) => sources[slot as keyof typeof sources].from);
        const why = from?.length ? undefined : refusal(path, value, leaf?.kind);
        if (from?.length) fault(`comes from ${from.join(' and ')}`, 'change it there, so that all that use it follow');
        else if (why) fault(why.what, why.hint, 'value');
        else reading.overrides.push({ path, value: value as Override['value'] });
      }
    }
  };
  walk(given, [], [name]);
  return reading;
}

function below(leaves: readonly Leaf[], path: readonly string[]): Leaf[] {
  return leaves.filter(
    (leaf) => leaf.path.length > path.length && isDeepStrictEqual(leaf.path.slice(0, path.length), path),
  );
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
  const other = others.find((each) =>
    overridable(each, name).some((leaf) => isDeepStrictEqual(leaf.path.slice(0, path.length), path)),
  );
  const key = path.at(-1) ?? '';
  const ifNew = `a key that the template does not have is written ${newMark}${key}`;
  if (other) return `it is a key of the ${other} generation; ${ifNew}`;
  const meant = suggest(key, known);
  return meant === undefined ? `known here: ${known.join(', ')}; ${ifNew}` : `did you mean ${meant}? ${ifNew}`;
}

/** Ports that one program listens on: two alike, and it does not start. */
const listening: Readonly<Record<OverrideName, RegExp>> = {
  node_config: /^(RPC|RPC\.WebSockets|Metrics)\.Port$|^Metrics\.ProfilingPort$/,
  prover_config: /ServerPort$/,
};

function samePorts(
  vars: Pick<RawVariables, 'generation'>,
  name: OverrideName,
  overrides: readonly Override[],
): OverrideFault[] {
  if (overrides.length === 0) return [];
  const ports = overridable(vars.generation, name)
    .map(({ path, text }) => ({ path, own: overrides.find((one) => isDeepStrictEqual(one.path, path))?.value, text }))
    .filter(({ path }) => listening[name].test(path.join('.')))
    .map(({ path, own, text }) => ({ path, own, port: own ?? Number(text) }));
  return ports.flatMap(({ path, own, port }) => {
    const other = ports.find((each) => each.port === port && each.path !== path);
    if (own === undefined || !other) return [];
    return [
      {
        path: [name, ...path],
        at: 'value' as const,
        what: `${[name, ...path].join('.')} is ${String(port)}, as ${other.path.join('.')} is`,
      },
    ];
  });
}
