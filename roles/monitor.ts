import { role } from '../lib/engine/resource/role.ts';
import { alertmanagerRuns } from '../lib/node/monitor/alertmanager-unit.ts';
import { proberRuns } from '../lib/node/monitor/prober.ts';
import { prometheusRuns } from '../lib/node/monitor/prometheus.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * Prometheus, Alertmanager and the prober of gateways. Alertmanager first: an alert of the first
 * minute has a place to go.
 */
export default role<Variables>('monitor', (context) => [
  ...alertmanagerRuns(context),
  ...proberRuns(context),
  ...prometheusRuns(context),
]);
