import type { JsonSchema } from '../inventory/json-schema.ts';
import { duration, type Kind, type Leaf } from '../template/leaves.ts';
import { generations } from './generation.ts';
import { inWords } from './override-values.ts';
import { overridable, type overridden } from './overrides.ts';
import type { Variables } from './variables.ts';

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

/**
 * What an editor may offer under `node_config` or `prover_config`: every key of any generation's template, and new ones by their
 * mark. Keys whose value comes from elsewhere are left out. Values of the templates are not in it: it stays when they change.
 */
export function overrideSchema(name: keyof typeof overridden): JsonSchema {
  const names = Object.keys(generations) as Variables['generation'][];
  const leaves = names.flatMap((generation) => overridable(generation, name)).filter(({ slots }) => slots.length === 0);
  return section(leaves, 0);
}

function section(leaves: readonly Leaf[], depth: number): JsonSchema {
  const keys = [...new Set(leaves.map(({ path }) => path[depth] ?? ''))];
  return {
    type: 'object',
    properties: Object.fromEntries(
      keys.map((key) => {
        const here = leaves.filter(({ path }) => path[depth] === key);
        const leaf = here.find(({ path }) => path.length === depth + 1);
        const inside = { description: 'a section of the file', ...section(here, depth + 1) };
        return [key, leaf ? { description: inWords[leaf.kind], ...kinds[leaf.kind] } : inside];
      }),
    ),
    patternProperties: { '^\\+': {} },
    additionalProperties: false,
  };
}
