import { expect, test } from 'vitest';
import * as z from 'zod';
import { keepsReference } from './kept-references.ts';
import { variablesSchema } from './variables.ts';

/** The paths of a JSON Schema with a title. */
function* titled(
  schema: z.core.JSONSchema._JSONSchema,
  title: string,
  path: string[] = [],
): Generator<string[]> {
  if (typeof schema !== 'object') return;
  if (schema.title === title) yield path;
  for (const [key, inner] of Object.entries(schema.properties ?? {}))
    yield* titled(inner, title, [...path, key]);
}

test('every variable that its schema calls a reference to a secret keeps it', () => {
  const schema = z.toJSONSchema(variablesSchema, { target: 'draft-07', io: 'input' });
  const paths = [...titled(schema, 'secret reference')];
  expect(paths).toContainEqual(['credentials', 'pool', 'password']);
  expect(paths.filter((path) => !keepsReference(path))).toEqual([]);
  expect(keepsReference(['network', 'l1_rpc_url'])).toBe(false);
});
