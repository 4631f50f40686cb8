import { expect, test } from 'vitest';
import { yamlDocuments } from './yaml-documents.mjs';

test('nesting is limited before the stack of the parser overflows', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  expect(yamlDocuments(nested(64), {})[0].errors).toEqual([]);
  expect(() => yamlDocuments(nested(1_000_000), {})).toThrow('nested more than 64 levels deep');
});

test('the rest is not read after many stray tokens', () => {
  expect(yamlDocuments('}'.repeat(262_144), {})[0].errors).toHaveLength(100);
});
