import { role } from '../lib/engine/resource/role.ts';
import { acceptsWrites, receivedIsReplayed } from '../lib/node/switch/promotion.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The new server has replayed what it received, and accepts writes. */
export default role<Variables>('switch-to', (context) =>
  context.given.to === undefined ? [] : [receivedIsReplayed(context), acceptsWrites(context)],
);
