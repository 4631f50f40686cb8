import { groups } from '../../lib/node/variables/groups.ts';
import { variablesSchema } from '../../lib/node/variables/variables.ts';
import {
  type InventoryJsonSchema,
  inventoryJsonSchema,
  type JsonSchema,
  jsonSchemaOf,
} from './json-schema.ts';
import { overrideSchema } from './overrides-schema.ts';
import { type ReferenceRow, referenceRows, referenceTable } from './reference-table.ts';

/** The JSON Schema of inventories: editors check and complete inventories with it. */
function deploymentJsonSchema(): InventoryJsonSchema {
  const replace = {
    node_config: overrideSchema('node_config'),
    prover_config: overrideSchema('prover_config'),
  };
  return inventoryJsonSchema({ variables: variablesSchema, groups, replace });
}

/** The text of inventory/schema.json. */
export function schemaText(): string {
  return `${JSON.stringify(deploymentJsonSchema(), null, 2)}\n`;
}

/** The pages with the tables. */
export const tablePages = [
  'configuration.md',
  'node-variables.md',
  'host-variables.md',
  'gateway-variables.md',
] as const;

const table = /(<!-- table of (\w+): ([^>]*?) -->\n)[\s\S]*?(?=<!-- end of table -->)/g;

/**
 * Fills in the tables of pages again. A table is between `<!-- table of KIND: KEY… -->` and `<!--
 * end of table -->`, KIND is inventory, group, host or variables, and the table has one row for each key
 * and for each key below it.
 *
 * @throws Error where a table names a key that does not exist or is in a table already, or a key
 * is in no table
 */
export function withTables(pages: readonly string[]): string[] {
  const schema = deploymentJsonSchema();
  const sources: Readonly<Record<string, JsonSchema>> = {
    inventory: schema,
    group: schema.definitions.group,
    host: schema.definitions.host,
    variables: jsonSchemaOf(variablesSchema),
  };
  const missing = new Map(
    Object.entries(sources).map(([kind, source]) => [kind, byTopKey(referenceRows(source))]),
  );
  const fill = (_: string, start: string, kind: string, keys: string) => {
    const rows = keys.split(' ').flatMap((key) => {
      const found = missing.get(kind)?.get(key);
      if (!found)
        throw new Error(`the table of ${kind} names ${key}, which does not exist or is in a table already`);
      missing.get(kind)?.delete(key);
      return found;
    });
    return `${start}\n${referenceTable(rows)}\n`;
  };
  const filled = pages.map((page) => page.replace(table, fill));
  const left = [...missing].flatMap(([kind, rows]) => [...rows.keys()].map((key) => `${kind}: ${key}`));
  if (left.length > 0) throw new Error(`in no table: ${left.join(', ')}`);
  return filled;
}

function byTopKey(rows: readonly ReferenceRow[]): Map<string, ReferenceRow[]> {
  const grouped = new Map<string, ReferenceRow[]>();
  for (const row of rows) {
    const [key = ''] = row.path.split('.');
    grouped.set(key, [...(grouped.get(key) ?? []), row]);
  }
  return grouped;
}
