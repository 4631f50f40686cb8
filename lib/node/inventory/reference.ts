import {
  type InventoryJsonSchema,
  inventoryJsonSchema,
  type JsonSchema,
  jsonSchemaOf,
} from '../../engine/inventory/schema/json-schema.ts';
import { type ReferenceRow, referenceRows, referenceTable } from '../../engine/inventory/schema/reference-table.ts';
import { overrideSchema } from '../render/overrides/schema.ts';
import { groups } from '../variables/groups.ts';
import { variablesSchema } from '../variables/variables.ts';

/** Of the inventories of a deployment: what editors check and complete them by. */
export function deploymentJsonSchema(): InventoryJsonSchema {
  const replace = { node_config: overrideSchema('node_config'), prover_config: overrideSchema('prover_config') };
  return inventoryJsonSchema({ variables: variablesSchema, groups, replace });
}

/** The text of inventory/schema.json. */
export function schemaText(): string {
  return `${JSON.stringify(deploymentJsonSchema(), null, 2)}\n`;
}

const table = /(<!-- table of (\w+): ([^>]*?) -->\n)[\s\S]*?(?=<!-- end of table -->)/g;

/**
 * A page with its tables filled in anew: a table stands between `<!-- table of KIND: KEY… -->` and `<!-- end of table -->`, KIND
 * being inventory, host or variables, and tells of each key and all below it.
 *
 * @throws Error where a table names a key that there is not, or a key is in no table
 */
export function withTables(page: string): string {
  const schema = deploymentJsonSchema();
  const sources: Readonly<Record<string, JsonSchema>> = {
    inventory: schema,
    host: schema.definitions.host,
    variables: jsonSchemaOf(variablesSchema),
  };
  const missing = new Map(Object.entries(sources).map(([kind, source]) => [kind, byTopKey(referenceRows(source))]));
  const filled = page.replace(table, (_, start: string, kind: string, keys: string) => {
    const rows = keys.split(' ').flatMap((key) => {
      const found = missing.get(kind)?.get(key);
      if (!found)
        throw new Error(`the table of ${kind} names ${key}, which there is not, or which is in a table already`);
      missing.get(kind)?.delete(key);
      return found;
    });
    return `${start}\n${referenceTable(rows)}\n`;
  });
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
