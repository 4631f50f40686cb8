import * as z from 'zod';
import { groupSchema, hostSchema, inventorySchema, namePattern } from '../../lib/engine/inventory/schema.ts';
import type { Group } from '../../lib/node/variables/groups.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

export interface Deployment {
  /** Schema of the variables of one host, after merging. */
  readonly variables: z.ZodType;
  /** By name. Each group needs a host unless it is optional. */
  readonly groups: Readonly<Record<string, Group>>;
  /** Stricter schemas of some variables, by name. */
  readonly replace?: Readonly<Record<string, JsonSchema>>;
}

export interface InventoryJsonSchema extends JsonSchema {
  readonly definitions: {
    readonly group: JsonSchema;
    readonly host: JsonSchema;
    readonly variables: JsonSchema;
  };
}

/**
 * The JSON Schema of a deployment's inventories, for editors. It describes each value on its own;
 * rules between values are checked by a run only. No variable is required, because each may be in
 * a file of variables, in `vars` or in the host's own `vars`.
 *
 * @throws Error where a schema has no JSON Schema
 */
export function inventoryJsonSchema({ variables, groups, replace = {} }: Deployment): InventoryJsonSchema {
  const top = jsonSchemaOf(inventorySchema);
  const host = jsonSchemaOf(hostSchema);
  const group = groupDefinition();
  const vars = withReferences(optionalAtEveryDepth(jsonSchemaOf(variables)));
  for (const [name, better] of Object.entries(replace)) {
    vars.properties = { ...vars.properties, [name]: { ...description(vars, name), ...better } };
  }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...top,
    properties: {
      ...top.properties,
      vars: { $ref: '#/definitions/variables', ...description(top, 'vars') },
      groups: { ...description(top, 'groups'), ...groupsSchema(groups, group) },
    },
    definitions: {
      group,
      host: {
        ...host,
        // A host of two groups has its settings in one of them.
        type: ['object', 'null'],
        properties: {
          ...host.properties,
          vars: { $ref: '#/definitions/variables', ...description(host, 'vars') },
        },
      },
      variables: vars,
    },
  };
}

/**
 * The JSON Schema of an input value: a key with a default is optional. `patternErrorMessage`,
 * which editors show instead of the pattern, is the message of the zod schema.
 *
 * @throws Error where a pattern has flags that JSON Schema does not have
 */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: 'draft-07',
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      explainPatterns(jsonSchema, messagesOfPatterns(zodSchema));
      // zod adds the pattern of a format: one error is enough.
      if (jsonSchema.pattern !== undefined) delete jsonSchema.format;
      if (jsonSchema.type === 'string' && !jsonSchema.enum && !jsonSchema.pattern && !jsonSchema.allOf) {
        Object.assign(jsonSchema, { pattern: filledIn, patternErrorMessage: 'is not filled in' });
      }
      // These are the limits of JavaScript's integers, not of the value.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      // The mapping is optional; its keys have their own defaults.
      if (jsonSchema.type === 'object' && JSON.stringify(jsonSchema.default) === '{}')
        delete jsonSchema.default;
    },
  });
  return json as JsonSchema;
}

/** Text without a placeholder (see placeholders.ts). */
const filledIn = String.raw`^(?![\s\S]*<FILL)`;

/** A group: its settings, and hosts by name. */
function groupDefinition(): JsonSchema {
  const { properties = {} } = jsonSchemaOf(groupSchema);
  return {
    type: 'object',
    propertyNames: { pattern: namePattern.source },
    properties: {
      ...properties,
      vars: { $ref: '#/definitions/variables', ...description({ properties }, 'vars') },
    },
    additionalProperties: { $ref: '#/definitions/host' },
    minProperties: 1,
  };
}

function groupsSchema(groups: Deployment['groups'], { properties = {} }: JsonSchema): JsonSchema {
  const hasSettings = Object.keys(properties).map((key) => ({ type: 'object' as const, required: [key] }));
  const group = ({ description, most }: Omit<Group, 'optional'>): JsonSchema => ({
    description,
    allOf: [{ $ref: '#/definitions/group' }],
    // The settings of a group count as properties, too.
    ...(most !== undefined && {
      if: { not: { anyOf: hasSettings } },
      // biome-ignore lint/suspicious/noThenProperty: JSON Schema has this key.
      then: { type: 'object', maxProperties: most },
    }),
  });
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(groups).map(([name, each]) => [name, group(each)])),
    required: Object.keys(groups).filter((name) => !groups[name]?.optional),
    additionalProperties: group({ description: 'A group of your own: hosts of the groups above' }),
  };
}

function description({ properties }: JsonSchema, name: string): Pick<JsonSchema, 'description'> {
  const property = properties?.[name];
  return typeof property === 'object' && property.description !== undefined
    ? { description: property.description }
    : {};
}

/**
 * Makes every key optional, through nested mappings. Items of lists keep their required keys,
 * because lists are not merged. Defaults are added to the descriptions, because editors do not
 * show them.
 */
function optionalAtEveryDepth({ required: _, ...schema }: JsonSchema): JsonSchema {
  const { default: byDefault, description = '' } = schema;
  const withDefault = `${description}. Default: ${typeof byDefault === 'string' ? byDefault : JSON.stringify(byDefault)}`;
  const described = byDefault === undefined ? schema : { ...schema, description: withDefault };
  if (!schema.properties) return described;
  const properties = Object.entries(schema.properties).map(([name, property]): [string, typeof property] => [
    name,
    typeof property === 'object' ? optionalAtEveryDepth(property) : property,
  ]);
  return { ...described, properties: Object.fromEntries(properties) };
}

/** A reference to a secret, alone or within a text. */
const reference = String.raw`^(env|file|secret|cmd):.|\{\{\s*(env|file|secret|cmd):`;

/** The same schema, where each text may also be, or have in it, a reference to a secret. */
function withReferences<S extends z.core.JSONSchema._JSONSchema>(schema: S): S {
  if (typeof schema !== 'object') return schema;
  const each = (of: Readonly<Record<string, z.core.JSONSchema._JSONSchema>>) =>
    Object.fromEntries(Object.entries(of).map(([key, inner]) => [key, withReferences(inner)]));
  const { properties, items, anyOf, allOf, pattern } = schema;
  const isText = pattern !== undefined && pattern !== filledIn && schema.title !== 'secret reference';
  return {
    ...schema,
    ...(properties && { properties: each(properties) }),
    ...(typeof items === 'object' && !Array.isArray(items) && { items: withReferences(items) }),
    ...(anyOf && { anyOf: anyOf.map(withReferences) }),
    ...(allOf && { allOf: allOf.map(withReferences) }),
    ...(isText && { pattern: `${reference}|${pattern}` }),
  };
}

/** The messages of a schema's patterns, by the source of the pattern. */
function messagesOfPatterns(schema: z.core.$ZodType): Map<string, string> {
  const messages = new Map<string, string>();
  // A format such as a date is a schema and a check in one.
  for (const { def } of [schema, ...(schema._zod.def.checks ?? [])].map(({ _zod }) => _zod)) {
    if (!('pattern' in def && def.pattern instanceof RegExp)) continue;
    // JSON Schema reads patterns as with the flag u.
    if (!/^u?$/.test(def.pattern.flags))
      throw new Error(`${def.pattern} has flags that JSON Schema does not have`);
    const error = def.error?.({ code: 'invalid_format', format: 'regex', input: '', path: [] } as never);
    const message = typeof error === 'string' ? error : error?.message;
    if (message !== undefined) messages.set(def.pattern.source, message);
  }
  return messages;
}

function explainPatterns(json: z.core.JSONSchema.BaseSchema, messages: ReadonlyMap<string, string>): void {
  for (const part of [json, ...(json.allOf ?? [])]) {
    const message =
      typeof part === 'object' && part.pattern !== undefined ? messages.get(part.pattern) : undefined;
    if (message !== undefined) Object.assign(part, { patternErrorMessage: message });
  }
}
