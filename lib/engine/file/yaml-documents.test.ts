import { expect, test } from 'vitest';
import { deepest, yamlDocuments } from './yaml-documents.mjs';

test('nesting is limited before the stack of the parser overflows', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  expect(yamlDocuments(nested(deepest), {})[0].errors).toEqual([]);
  expect(() => yamlDocuments(nested(1_000_000), {})).toThrow('nested more than 64 levels deep');
});
