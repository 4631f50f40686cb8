import { isSection, type Leaf, type Section } from '../../lib/engine/template/outline.ts';
import { type OverrideName, overridable } from '../../lib/node/render/overrides/overrides.ts';
import { choices, kinds, limitsOf } from '../../lib/node/render/overrides/values.ts';
import { generations } from '../../lib/node/variables/generation.ts';
import type { Variables } from '../../lib/node/variables/variables.ts';
import type { JsonSchema } from './json-schema.ts';

/** New keys, as in overrides.ts; the prover's file is flat. */
const newKeys: Readonly<Record<OverrideName, JsonSchema>> = {
  node_config: {},
  prover_config: { not: { type: 'object' } },
};

/**
 * The schema that an editor uses under `node_config` or `prover_config`: every key of any
 * generation's template, and new ones with their mark. Keys with a value from a variable in any
 * generation are left out. The templates' values are not in it, so it does not change with them.
 */
export function overrideSchema(name: OverrideName): JsonSchema {
  const generationNames = Object.keys(generations) as Variables['generation'][];
  const tops = generationNames.map((generation) => overridable(generation, name));
  return sectionSchema(tops, [], newKeys[name]);
}

/**
 * @param sections one section of each generation that has it
 */
function sectionSchema(
  sections: readonly Section[],
  above: readonly string[],
  newKey: JsonSchema,
): JsonSchema {
  const keys = new Set(sections.flatMap((section) => [...section.keys.keys()]));
  const properties = [...keys].flatMap((key) => {
    const path = [...above, key];
    const entries = sections.flatMap((section) => section.keys.get(key) ?? []);
    const leaves = entries.filter((entry): entry is Leaf => !isSection(entry));
    if (leaves.some(({ slots }) => slots.length > 0)) return [];
    const [leaf] = leaves;
    if (leaf) return [[key, { description: kinds[leaf.kind].words, ...valueSchema(path.join('.'), leaf) }]];
    return [
      [
        key,
        { description: 'a section of the file', ...sectionSchema(entries.filter(isSection), path, newKey) },
      ],
    ];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    patternProperties: { '^\\+[A-Za-z][\\w-]*$': newKey },
    additionalProperties: false,
  };
}

function valueSchema(key: string, { kind, items }: Leaf): JsonSchema {
  const { schema } = kinds[kind];
  const allowed = choices[key];
  if (allowed) return { ...schema, enum: [...allowed] };
  if (items) return { ...schema, items: kinds[items].schema };
  return kind === 'whole number' ? { ...schema, ...limitsOf(key) } : schema;
}
