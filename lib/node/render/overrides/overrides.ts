import { entryAt, isSection, type Leaf, outlineOf, type Section } from '../../../engine/template/outline.ts';
import type { Override } from '../../../engine/template/override.ts';
import { keysOf } from '../../../engine/text/keys.ts';
import { didYouMean } from '../../../engine/text/suggest.ts';
import type { Fault } from '../../variables/fault.ts';
import { generations } from '../../variables/generation.ts';
import type { RawVariables, Variables } from '../../variables/variables.ts';
import { templateOf } from '../templates.ts';
import { sourceOf } from '../values.ts';
import { type Refusal, refusal } from './values.ts';

/** The variables that hold overrides, and the files that they apply to. */
const overridden = { node_config: 'node.config.toml', prover_config: 'prover.config.json' } as const;

export type OverrideName = keyof typeof overridden;
const names = keysOf(overridden);

/**
 * Marks a key that the template lacks. The node ignores unknown keys, so a misspelt key must not
 * be accepted as a new one.
 */
const newMark = '+';
const newName = /^[A-Za-z][A-Za-z0-9_-]*$/;

type Vars = Pick<RawVariables, OverrideName | 'generation'>;
type Mapping = Readonly<Record<string, unknown>>;

/** The overrides for one file. They are checked when the inventory is loaded. */
export function overridesFor(vars: Vars, file: string): readonly Override[] {
  const name = names.find((each) => overridden[each] === file);
  return name ? readOverrides(vars, name).overrides : [];
}

/** All faults in a host's overrides. */
export function overrideFaults(vars: Vars): Fault[] {
  return names.flatMap((name) => {
    const { faults, overrides } = readOverrides(vars, name);
    return [...faults, ...samePorts(vars, name, overrides)];
  });
}

/** The keys of a template that overrides apply to. */
export function overridable(generation: Variables['generation'], name: OverrideName): Section {
  const { text, source } = templateOf(generation, overridden[name]);
  return outlineOf(text, source);
}

function readOverrides(vars: Vars, name: OverrideName) {
  const overrides: Override[] = [];
  const faults: Fault[] = [];
  /**
   * @param section of the template; undefined in a new section
   * @param above its path, with the marks that the inventory has
   */
  const walk = (map: Mapping, section: Section | undefined, above: readonly string[]) => {
    const met = new Map<string, string>();
    for (const [key, value] of Object.entries(map)) {
      const at = [...above, key];
      const path = at.slice(1).map(withoutMark);
      const own = withoutMark(key);
      const entry = section?.keys.get(own);
      // The node treats keys that differ only in case as one, and loses a value. The prover
      // distinguishes them.
      const same = name === 'node_config' ? own.toLowerCase() : own;
      const earlier = met.get(same);
      met.set(same, earlier ?? key);
      const wrongKey =
        section === undefined || key.startsWith(newMark)
          ? (newKeyFault(own, section, earlier) ?? movedSectionFault(vars.generation, name, path))
          : (unknownKeyFault(vars.generation, name, path, section) ?? variableFault(entry));
      const fault = wrongKey ?? valueFault(name, path, value, entry);
      if (fault) {
        const what = `${at.join('.')} ${fault.what}`;
        faults.push({ path: at, at: wrongKey ? 'key' : 'value', what, hint: fault.hint });
      } else if (isMap(value)) walk(value, isSection(entry) ? entry : undefined, at);
      else overrides.push({ path, value: value as Override['value'] });
    }
  };
  if (Object.keys(vars[name]).length > 0) walk(vars[name], overridable(vars.generation, name), [name]);
  return { overrides, faults };
}

function withoutMark(key: string): string {
  return key.startsWith(newMark) ? key.slice(newMark.length) : key;
}

function newKeyFault(
  key: string,
  section: Section | undefined,
  earlier: string | undefined,
): Refusal | undefined {
  const twin = [...(section?.keys.keys() ?? [])].find((other) => other.toLowerCase() === key.toLowerCase());
  if (twin !== undefined) {
    return {
      what: `is there already, as ${twin}`,
      hint: `write the key without ${newMark}, with the same capital letters`,
    };
  }
  if (earlier !== undefined) return { what: `is there already, as ${earlier}`, hint: 'keep one of the two' };
  if (newName.test(key)) return undefined;
  return {
    what: 'is not a name for a key',
    hint: 'a name starts with a letter; letters, digits, _ and - follow',
  };
}

function unknownKeyFault(
  generation: Variables['generation'],
  name: OverrideName,
  path: readonly string[],
  section: Section,
): Refusal | undefined {
  const key = path.at(-1) ?? '';
  if (section.keys.has(key)) return undefined;
  const what = 'is not a key of the template';
  const moved = movedSectionFault(generation, name, path);
  if (moved) return { what, hint: `it ${moved.what}` };
  const other = otherGeneration(generation, name, path);
  const hint = other ? `it is a key of the ${other} generation` : didYouMean(key, section.keys.keys());
  const ifNew = `a key that the template does not have is written ${newMark}${key}`;
  return { what, hint: hint === undefined ? ifNew : `${hint} (${ifNew})` };
}

function otherGeneration(generation: Variables['generation'], name: OverrideName, path: readonly string[]) {
  return keysOf(generations).find(
    (each) => each !== generation && entryAt(overridable(each, name), path) !== undefined,
  );
}

/**
 * A section with values of variables has another name in each generation. The node ignores the one
 * of the other, without a message.
 */
function movedSectionFault(
  generation: Variables['generation'],
  name: OverrideName,
  path: readonly string[],
): Refusal | undefined {
  const other = otherGeneration(generation, name, path);
  const entry = other && entryAt(overridable(other, name), path);
  if (!isSection(entry) || !hasVariables(entry)) return undefined;
  return { what: `is a section of the ${other} generation, which the node of this one ignores` };
}

function hasVariables({ keys }: Section): boolean {
  return [...keys.values()].some((entry) =>
    isSection(entry) ? hasVariables(entry) : entry.slots.length > 0,
  );
}

/** A value that comes from a variable is refused, so that all files keep the same value. */
function variableFault(entry: Leaf | Section | undefined): Refusal | undefined {
  if (!entry || isSection(entry) || entry.slots.length === 0) return undefined;
  return {
    what: `comes from ${entry.slots.map(sourceOf).join(' and ')}`,
    hint: 'change the value there: everything that uses it follows',
  };
}

function valueFault(
  name: OverrideName,
  path: readonly string[],
  value: unknown,
  entry: Leaf | Section | undefined,
) {
  if (isSection(entry)) return isMap(value) ? undefined : { what: 'must be a mapping of keys' };
  if (!isMap(value)) return refusal(path, value, entry);
  if (entry) return { what: `must be ${entry.kind === 'list' ? 'a list' : 'one value'}, not a mapping` };
  if (name === 'prover_config') return { what: "must be one value: the prover's configuration is flat" };
  return Object.keys(value).length === 0 ? { what: 'is a new section with no key in it' } : undefined;
}

function isMap(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Ports of one program, each with the key that enables it: with two equal ones, the program does
 * not start.
 */
const listening: Readonly<Record<OverrideName, Readonly<Record<string, string | undefined>>>> = {
  node_config: {
    'RPC.Port': undefined,
    'RPC.WebSockets.Port': 'RPC.WebSockets.Enabled',
    'Metrics.Port': 'Metrics.Enabled',
    'Metrics.ProfilingPort': 'Metrics.ProfilingEnabled',
  },
  prover_config: {
    executorServerPort: undefined,
    hashDBServerPort: undefined,
    aggregatorServerPort: 'runAggregatorServer',
  },
};

function samePorts(vars: Vars, name: OverrideName, overrides: readonly Override[]): Fault[] {
  if (overrides.length === 0) return [];
  const top = overridable(vars.generation, name);
  const own = (key: string) => overrides.find(({ path }) => path.join('.') === key)?.value;
  const now = (key: string) => String(own(key) ?? (entryAt(top, key.split('.')) as Leaf | undefined)?.text);
  const ports = Object.entries(listening[name])
    .filter(([, enabled]) => enabled === undefined || now(enabled) === 'true')
    .map(([key]) => ({ key, port: Number(now(key).replaceAll('_', '')) }));
  return ports.flatMap(({ key, port }) => {
    const other = ports.find((each) => each.port === port && each.key !== key);
    if (own(key) === undefined || !other) return [];
    const path = [name, ...key.split('.')];
    return [{ path, at: 'value' as const, what: `${path.join('.')} is ${port}, as ${other.key} is` }];
  });
}
