import type { JsonSchema } from '../../../engine/inventory/schema/json-schema.ts';
import { duration, isSection, type Kind, type Leaf, type Section } from '../../../engine/template/outline.ts';
import { generations } from '../../variables/generation.ts';
import type { Variables } from '../../variables/variables.ts';
import { type OverrideName, overridable } from './overrides.ts';
import { choices, in32Bits, inWords, isPort, most32Bits, mostPort } from './values.ts';

const kinds: Readonly<Record<Kind, JsonSchema>> = {
  boolean: { type: 'boolean' },
  'whole number': { type: 'integer', minimum: 0 },
  number: { type: 'number', minimum: 0 },
  duration: { type: 'string', pattern: duration.source, patternErrorMessage: `must be ${inWords.duration}` },
  text: { type: 'string' },
  list: { type: 'array' },
};

/** Names of new keys, as in overrides.ts; the prover's file is flat. */
const fresh: Readonly<Record<OverrideName, Readonly<Record<string, JsonSchema>>>> = {
  node_config: { '^\\+[A-Za-z][\\w-]*$': {} },
  prover_config: { '^\\+[A-Za-z][\\w-]*$': { not: { type: 'object' } } },
};

/**
 * The schema that an editor uses under `node_config` or `prover_config`: every key of any generation's template, and new ones with
 * their mark. Keys with a value from a variable in any generation are left out. The templates' values are not in it, so it does not
 * change with them.
 */
export function overrideSchema(name: OverrideName): JsonSchema {
  const generationNames = Object.keys(generations) as Variables['generation'][];
  return sectionSchema(
    generationNames.map((generation) => overridable(generation, name)),
    [],
    name,
  );
}

/** @param sections one section of each generation that has it */
function sectionSchema(sections: readonly Section[], above: readonly string[], name: OverrideName): JsonSchema {
  const keys = new Set(sections.flatMap((section) => [...section.keys.keys()]));
  const properties = [...keys].flatMap((key) => {
    const path = [...above, key];
    const entries = sections.flatMap((section) => section.keys.get(key) ?? []);
    const leaves = entries.filter((entry): entry is Leaf => !isSection(entry));
    if (leaves.some(({ slots }) => slots.length > 0)) return [];
    const [leaf] = leaves;
    if (leaf) return [[key, { description: inWords[leaf.kind], ...valueSchema(path.join('.'), leaf) }]];
    return [[key, { description: 'a section of the file', ...sectionSchema(entries.filter(isSection), path, name) }]];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    patternProperties: fresh[name],
    additionalProperties: false,
  };
}

function valueSchema(key: string, { kind, items }: Leaf): JsonSchema {
  const allowed = choices[key];
  if (allowed) return { ...kinds[kind], enum: [...allowed] };
  if (kind === 'list' && items) return { ...kinds[kind], items: kinds[items] };
  if (kind !== 'whole number') return kinds[kind];
  if (isPort(key)) return { ...kinds[kind], minimum: 1, maximum: mostPort };
  return in32Bits.test(key) ? { ...kinds[kind], maximum: most32Bits } : kinds[kind];
}
