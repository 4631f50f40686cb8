import * as z from 'zod';
import { hostSchema, inventorySchema, namePattern } from './schema.ts';

export type JsonSchema = z.core.JSONSchema.JSONSchema;

/** A group of hosts that a deployment knows. */
export interface Group {
  readonly description: string;
  /** How many hosts may be in it. Default: any number. */
  readonly most?: number;
}

export interface Deployment {
  /** Of the variables of one host, after merging. */
  readonly variables: z.ZodType;
  /** By name. Each has to have a host, and there are no others. */
  readonly groups: Readonly<Record<string, Group>>;
  /** Schemas of variables that are known better than `variables` says, by name. */
  readonly replace?: Readonly<Record<string, JsonSchema>>;
}

export interface InventoryJsonSchema extends JsonSchema {
  readonly definitions: { readonly host: JsonSchema; readonly variables: JsonSchema };
}

/**
 * The schema of a deployment's inventories, for editors. It says of each value what it may be on its own; what refinements and the
 * deployment demand besides, only a run can tell. No variable is required, for each of them may stand in a file of variables, in
 * `vars` or with the host.
 *
 * @throws Error where a schema has no JSON Schema
 */
export function inventoryJsonSchema({ variables, groups, replace = {} }: Deployment): InventoryJsonSchema {
  const top = jsonSchemaOf(inventorySchema);
  const host = jsonSchemaOf(hostSchema);
  const vars = asOneOfSeveralSources(jsonSchemaOf(variables));
  for (const [name, better] of Object.entries(replace)) {
    vars.properties = { ...vars.properties, [name]: { ...description(vars, name), ...better } };
  }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...top,
    properties: {
      ...top.properties,
      vars: { $ref: '#/definitions/variables', ...description(top, 'vars') },
      groups: { ...description(top, 'groups'), ...groupsSchema(groups) },
    },
    definitions: {
      host: {
        ...host,
        properties: { ...host.properties, vars: { $ref: '#/definitions/variables', ...description(host, 'vars') } },
      },
      variables: vars,
    },
  };
}

/**
 * A schema as it is for whoever writes the value: what has a default may be left out. The words of a pattern are in
 * `patternErrorMessage`, which editors show instead of the pattern.
 *
 * @throws Error where a pattern has flags that JSON Schema cannot say
 */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: 'draft-07',
    io: 'input',
    override: ({ zodSchema, jsonSchema }) => {
      explainPatterns(jsonSchema, wordsOfPatterns(zodSchema));
      // zod gives a format's pattern, too: one complaint is enough.
      if (jsonSchema.pattern !== undefined) delete jsonSchema.format;
      if (jsonSchema.type === 'string' && !jsonSchema.enum && !jsonSchema.pattern && !jsonSchema.allOf) {
        Object.assign(jsonSchema, { pattern: filledIn, patternErrorMessage: 'is not filled in' });
      }
      // Limits of JavaScript's whole numbers, not of the value.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      // That a mapping may be left out; its keys have defaults of their own.
      if (jsonSchema.type === 'object' && JSON.stringify(jsonSchema.default) === '{}') delete jsonSchema.default;
    },
  });
  return json as JsonSchema;
}

/** Text that leaves nothing open (see placeholders.ts). */
const filledIn = String.raw`^(?![\s\S]*<FILL)`;

function groupsSchema(groups: Deployment['groups']): JsonSchema {
  const hosts = ({ description, most }: Group): JsonSchema => ({
    description,
    type: 'object',
    propertyNames: { pattern: namePattern.source },
    additionalProperties: { $ref: '#/definitions/host' },
    minProperties: 1,
    ...(most !== undefined && { maxProperties: most }),
  });
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, hosts(group)])),
    required: Object.keys(groups),
    additionalProperties: false,
  };
}

function description({ properties }: JsonSchema, name: string): Pick<JsonSchema, 'description'> {
  const property = properties?.[name];
  return typeof property === 'object' && property.description !== undefined
    ? { description: property.description }
    : {};
}

/**
 * With nothing required, through nested mappings; items of lists stay whole, for lists are not merged. Defaults are said in words,
 * for editors do not show them.
 */
function asOneOfSeveralSources({ required: _, ...schema }: JsonSchema): JsonSchema {
  const { default: usual, description = '' } = schema;
  const inWords = `${description}. Default: ${typeof usual === 'string' ? usual : JSON.stringify(usual)}`;
  const described = usual === undefined ? schema : { ...schema, description: inWords };
  if (!schema.properties) return described;
  const properties = Object.entries(schema.properties).map(([name, property]): [string, typeof property] => [
    name,
    typeof property === 'object' ? asOneOfSeveralSources(property) : property,
  ]);
  return { ...described, properties: Object.fromEntries(properties) };
}

/** What a schema says of a value that does not match, by pattern. */
function wordsOfPatterns(schema: z.core.$ZodType): Map<string, string> {
  const words = new Map<string, string>();
  // A format such as a date is a schema and a check in one.
  for (const { def } of [schema, ...(schema._zod.def.checks ?? [])].map(({ _zod }) => _zod)) {
    if (!('pattern' in def && def.pattern instanceof RegExp)) continue;
    // JSON Schema's patterns are those of the flag u.
    if (!/^u?$/.test(def.pattern.flags)) throw new Error(`${def.pattern} has flags that JSON Schema cannot say`);
    const said = def.error?.({ code: 'invalid_format', format: 'regex', input: '', path: [] } as never);
    const message = typeof said === 'string' ? said : said?.message;
    if (message !== undefined) words.set(def.pattern.source, message);
  }
  return words;
}

function explainPatterns(json: z.core.JSONSchema.BaseSchema, words: ReadonlyMap<string, string>): void {
  for (const part of [json, ...(json.allOf ?? [])]) {
    const message = typeof part === 'object' && part.pattern !== undefined ? words.get(part.pattern) : undefined;
    if (message !== undefined) Object.assign(part, { patternErrorMessage: message });
  }
}
