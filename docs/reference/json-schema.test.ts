import { expect, test } from 'vitest';
import * as z from 'zod';
import { inventoryJsonSchema, jsonSchemaOf } from './json-schema.ts';

const groups = { web: { description: 'Web servers', most: 2 } };

test('no variable is required at any depth, but items of a list stay as they are', () => {
  const variables = z.strictObject({
    site: z.strictObject({ name: z.enum(['a']), mirrors: z.array(z.strictObject({ loud: z.boolean() })) }),
  });
  expect(inventoryJsonSchema({ variables, groups }).definitions.variables).toEqual({
    type: 'object',
    properties: {
      site: {
        type: 'object',
        properties: {
          name: { type: 'string', enum: ['a'] },
          mirrors: {
            type: 'array',
            items: {
              type: 'object',
              properties: { loud: { type: 'boolean' } },
              required: ['loud'],
              additionalProperties: false,
            },
          },
        },
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  });
});

test('a variable with a stricter schema keeps its description', () => {
  const variables = z.strictObject({ free: z.record(z.string(), z.unknown()).describe('Anything') });
  const replace = { free: { type: 'object', properties: { a: { type: 'integer' } } } } as const;
  const { properties } = inventoryJsonSchema({ variables, groups, replace }).definitions.variables;
  expect(properties?.free).toEqual({ description: 'Anything', ...replace.free });
});

test('the description contains the default, because editors do not show defaults', () => {
  const variables = z.strictObject({ port: z.int().default(80).describe('Port of it') });
  expect(inventoryJsonSchema({ variables, groups }).definitions.variables.properties?.port).toEqual({
    type: 'integer',
    default: 80,
    description: 'Port of it. Default: 80',
  });
});

test('any text is refused while it has a placeholder', () => {
  const { pattern = '' } = jsonSchemaOf(z.string());
  expect('Singapore\nand more').toMatch(new RegExp(pattern, 'u'));
  expect('in\n<FILL: region>').not.toMatch(new RegExp(pattern, 'u'));
});

test('a key with a default is optional, and a pattern has its message', () => {
  const schema = z.strictObject({
    size: z
      .string()
      .regex(/^\d+kB$/, 'must be a size')
      .regex(/^[1-9]/, 'must not be 0')
      .default('1kB'),
    limits: z.strictObject({ most: z.int().positive() }).prefault({ most: 1 }),
  });
  expect(jsonSchemaOf(schema)).toMatchObject({
    properties: {
      size: {
        default: '1kB',
        allOf: [
          { pattern: String.raw`^\d+kB$`, patternErrorMessage: 'must be a size' },
          { pattern: '^[1-9]', patternErrorMessage: 'must not be 0' },
        ],
      },
      limits: { properties: { most: { type: 'integer', exclusiveMinimum: 0 } } },
    },
  });
  expect(jsonSchemaOf(schema)).not.toHaveProperty('required');
});

test('a pattern with a flag is refused', () => {
  expect(() => jsonSchemaOf(z.string().regex(/^a$/i))).toThrow(
    '/^a$/i has flags that JSON Schema does not have',
  );
});
