import { duration, type Kind, type Leaf } from '../../lib/engine/template/leaves.ts';
import { overridable, type overridden } from '../../lib/node/render/overrides/overrides.ts';
import { choices, in32Bits, inWords, isPort, most32Bits, mostPort } from '../../lib/node/render/overrides/values.ts';
import { generations } from '../../lib/node/variables/generation.ts';
import type { Variables } from '../../lib/node/variables/variables.ts';
import type { JsonSchema } from './json-schema.ts';

const kinds: Readonly<Record<Kind, JsonSchema>> = {
  boolean: { type: 'boolean' },
  'whole number': { type: 'integer', minimum: 0 },
  number: { type: 'number', minimum: 0 },
  duration: {
    type: 'string',
    pattern: duration.source,
    patternErrorMessage: `must be ${inWords.duration}`,
  },
  text: { type: 'string' },
  list: { type: 'array' },
};

/** Names of new keys, as in overrides.ts. The prover's file is flat. */
const newKeys: Readonly<Record<keyof typeof overridden, Readonly<Record<string, JsonSchema>>>> = {
  node_config: { '^\\+[A-Za-z][\\w-]*$': {} },
  prover_config: { '^\\+[A-Za-z][\\w-]*$': { not: { type: 'object' } } },
};

/**
 * The JSON Schema of `node_config` or `prover_config`: every key of any generation's template, and new keys by their mark. Keys that
 * another variable fills in any generation are left out. Values of the templates are not in it, so it does not change with them.
 */
export function overrideSchema(name: keyof typeof overridden): JsonSchema {
  const names = Object.keys(generations) as Variables['generation'][];
  const leaves = names.flatMap((generation) => overridable(generation, name).leaves);
  return section(leaves, [], name);
}

function section(leaves: readonly Leaf[], above: readonly string[], name: keyof typeof overridden): JsonSchema {
  const depth = above.length;
  const keys = [...new Set(leaves.map(({ path }) => path[depth] ?? ''))];
  return {
    type: 'object',
    properties: Object.fromEntries(
      keys.flatMap((key) => {
        const here = leaves.filter(({ path }) => path[depth] === key);
        const own = here.filter(({ path }) => path.length === depth + 1);
        if (own.some(({ slots }) => slots.length > 0)) return [];
        const [leaf] = own;
        if (leaf) return [[key, { description: inWords[leaf.kind], ...valueSchema(leaf) }]];
        return [[key, { description: 'a section of the file', ...section(here, [...above, key], name) }]];
      }),
    ),
    patternProperties: newKeys[name],
    additionalProperties: false,
  };
}

function valueSchema({ path, kind, items }: Leaf): JsonSchema {
  const allowed = choices[path.join('.')];
  if (allowed) return { ...kinds[kind], enum: [...allowed] };
  if (kind === 'list' && items) return { ...kinds[kind], items: kinds[items] };
  if (kind !== 'whole number') return kinds[kind];
  if (isPort(path)) return { ...kinds[kind], minimum: 1, maximum: mostPort };
  return in32Bits.test(path.join('.')) ? { ...kinds[kind], maximum: most32Bits } : kinds[kind];
}
