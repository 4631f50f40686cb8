import { expect, test } from 'vitest';
import * as z from 'zod';
import { keepsReference } from './kept-references.ts';
import { variablesSchema } from './variables.ts';

type Schema = z.core.JSONSchema._JSONSchema;

const reference = 'secret reference';

/** The paths of texts in a JSON Schema, with their titles: of a list its first item, of other keys `any`. */
function* texts(schema: Schema | undefined, path: string[] = []): Generator<[string[], string]> {
  if (typeof schema !== 'object') return;
  if (schema.type === 'string' || Object.keys(schema).length === 0) yield [path, schema.title ?? ''];
  for (const [key, inner] of Object.entries(schema.properties ?? {})) yield* texts(inner, [...path, key]);
  yield* texts(schema.additionalProperties, [...path, 'any']);
  if (!Array.isArray(schema.items)) yield* texts(schema.items as Schema, [...path, '0']);
  for (const inner of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    yield* texts(inner, path);
}

test('every variable that its schema calls a reference to a secret keeps it, and all others get their secrets', () => {
  const schema = z.toJSONSchema(variablesSchema, { target: 'draft-07', io: 'input' });
  const all = [...texts(schema)];
  const isReference = ([, title]: (typeof all)[number]) => title === reference;
  const paths = all.filter(isReference).map(([path]) => path);
  expect(paths).toContainEqual(['credentials', 'pool', 'password']);
  expect(paths.filter((path) => !keepsReference(path))).toEqual([]);
  // These are read in both forms, with rules of their own.
  const others = all.filter((each) => !isReference(each) && keepsReference(each[0]));
  expect(new Set(others.map(([path]) => path.join('.').replace(/(receivers)\..*/, '$1')))).toEqual(
    new Set(['gateway.fallback', 'monitoring.receivers']),
  );
  expect(all.length).toBeGreaterThan(100);
});
