import type { JsonSchema } from './json-schema.ts';

/** One key of a schema in a reference table. */
export interface ReferenceRow {
  /** From the top: `network.l1_rpc_url`. */
  readonly path: string;
  readonly type: string;
  /** In Markdown: a value, `required`, or a dash for no default. */
  readonly byDefault: string;
  readonly meaning: string;
}

/** Every key of a schema at every depth, in the schema's order. */
export function referenceRows(schema: JsonSchema): ReferenceRow[] {
  return rowsBelow(schema, '', undefined);
}

/**
 * @param optional the nearest optional mapping above: its required keys are required only where
 * the mapping is present
 */
function rowsBelow(schema: JsonSchema, prefix: string, optional: string | undefined): ReferenceRow[] {
  const alternatives = schema.anyOf?.filter((each) => typeof each === 'object') ?? [];
  const mapping = [schema, ...alternatives].find(({ properties }) => properties) ?? {};
  return Object.entries(mapping.properties ?? {}).flatMap(([name, property]) => {
    if (typeof property !== 'object') return [];
    const path = `${prefix}${name}`;
    const isRequired = mapping.required?.includes(name) ?? false;
    const row = { path, type: typeOf(property), meaning: property.description ?? '' };
    const byDefault = isRequired ? requiredIn(optional) : shown(property.default);
    return [{ ...row, byDefault }, ...rowsBelow(property, `${path}.`, isRequired ? optional : path)];
  });
}

function requiredIn(optional: string | undefined): string {
  return optional === undefined ? 'required' : `required in \`${optional}\``;
}

function shown(value: unknown): string {
  if (value === undefined) return '–';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function typeOf(schema: JsonSchema): string {
  if (schema.title !== undefined) return schema.title;
  if (schema.enum) return schema.enum.map(shown).join(' or ');
  if (schema.type === undefined && schema.allOf) return 'mapping';
  const [one, other] = schema.anyOf ?? [];
  // The schemas have no other unions than: one value, or a list; one value, or a word.
  if (typeof one === 'object' && typeof other === 'object')
    return `${typeOf(one)}, or ${other.const === undefined ? 'a list' : shown(other.const)}`;
  switch (schema.type) {
    case 'array':
      return typeof schema.items === 'object' && !Array.isArray(schema.items)
        ? `list: ${typeOf(schema.items)}`
        : 'list';
    case 'boolean':
      return '`true` or `false`';
    case 'integer':
      return `whole number${range(schema)}`;
    case 'number':
      return `number${range(schema)}`;
    case 'string':
      return 'text';
    default:
      return 'mapping';
  }
}

function range({ type, minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  const above = typeof exclusiveMinimum === 'number' ? exclusiveMinimum : undefined;
  const least = minimum ?? (type === 'integer' && above !== undefined ? above + 1 : undefined);
  const bounds = [
    ...(least !== undefined ? [`from ${least}`] : above !== undefined ? [`more than ${above}`] : []),
    ...(maximum === undefined ? [] : [`to ${maximum}`]),
  ];
  return bounds.map((bound) => ` ${bound}`).join('');
}

/** The rows as a Markdown table. */
export function referenceTable(rows: readonly ReferenceRow[]): string {
  const line = (...cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
  const body = rows.map(({ path, type, byDefault, meaning }) =>
    line(`\`${path}\``, type, byDefault, meaning),
  );
  return [line('Key', 'Type', 'Default', 'Meaning'), '|---|---|---|---|\n', ...body].join('');
}
