import { role } from '../lib/engine/resource/role.ts';
import { alertmanager, prometheus } from '../lib/node/monitor/programs.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** Prometheus and Alertmanager. Alertmanager first: an alert of the first minute has a place to go. */
export default role<Variables>('monitor', (context) => [...alertmanager(context), ...prometheus(context)]);
