import { expect, test } from 'vitest';
import { deepest, NestedTooDeeply, yamlDocuments } from './yaml-documents.mjs';

test('a text is read down to the deepest level, and no deeper, whatever it is nested in', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  expect(yamlDocuments(nested(deepest), {})[0].errors).toEqual([]);
  for (const open of ['[', '{', '{a: ', '- ', '? ']) {
    expect(() => yamlDocuments(open.repeat(100_000), {}), open).toThrow(NestedTooDeeply);
  }
});

test('of many documents no more than two are read', () => {
  expect(yamlDocuments('---\n'.repeat(10_000), {})).toHaveLength(2);
  expect(yamlDocuments('', {})).toHaveLength(1);
});
