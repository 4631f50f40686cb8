import { role } from '../lib/engine/resource/role.ts';
import { databaseExporter, hostExporter } from '../lib/node/monitor/exporters.ts';
import { readersOfMetrics } from '../lib/node/variables/monitoring.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** Metrics of host, containers, chain and database, where somebody reads them. */
export default role<Variables>('exporters', async (context) => {
  if (readersOfMetrics(context).length === 0) return [];
  const database = context.host.groups.includes('database') ? databaseExporter(context.vars) : [];
  return [...(await hostExporter(context)), ...database];
});
