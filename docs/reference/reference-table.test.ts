import { expect, test } from 'vitest';
import * as z from 'zod';
import { jsonSchemaOf } from './json-schema.ts';
import { referenceRows, referenceTable } from './reference-table.ts';

test('each key has its path, type, default and meaning', () => {
  const word = z.string().regex(/^\w+$/).meta({ title: 'word' });
  const schema = z.strictObject({
    kind: z.enum(['a', 'b']).default('a').describe('One | other'),
    port: z.int().min(1).max(9).describe('Port'),
    count: z.int().positive().optional(),
    pause: z.number().positive().max(60).default(2),
    words: z.union([word, z.array(word)]).default([]),
    servers: z.array(word).optional(),
    mirror: z.strictObject({ url: word.describe('Where'), loud: z.boolean().default(false) }).optional(),
    site: z.strictObject({ name: z.string() }),
    lock: z.union([z.strictObject({ key: word }), z.literal(false)]).optional(),
  });
  expect(referenceTable(referenceRows(jsonSchemaOf(schema))).split('\n')).toEqual([
    '| Key | Type | Default | Meaning |',
    '|---|---|---|---|',
    '| `kind` | `a` or `b` | `a` | One \\| other |',
    '| `port` | whole number from 1 to 9 | required | Port |',
    '| `count` | whole number from 1 | – |  |',
    '| `pause` | number more than 0 to 60 | `2` |  |',
    '| `words` | word, or a list | `[]` |  |',
    '| `servers` | list: word | – |  |',
    '| `mirror` | mapping | – |  |',
    '| `mirror.url` | word | required in `mirror` | Where |',
    '| `mirror.loud` | `true` or `false` | `false` |  |',
    '| `site` | mapping | required |  |',
    '| `site.name` | text | required |  |',
    '| `lock` | mapping, or `false` | – |  |',
    '| `lock.key` | word | required in `lock` |  |',
    '',
  ]);
});
