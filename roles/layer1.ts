import { role } from '../lib/engine/resource/role.ts';
import { layer1IsChosen } from '../lib/node/layer1/balancer.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** With several addresses of layer 1, HAProxy chooses the one that the node uses. */
export default role<Variables>('layer1', (context) => layer1IsChosen(context));
