import { role } from '../lib/engine/resource/role.ts';
import { nothingIsLeft } from '../lib/node/recovery/cleaned-up.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** After a recovery only the recovered databases stay. A drill leaves nothing. */
export default role<Variables>('recovery-end', (context) => {
  const { given } = context;
  return given['to-time'] === undefined || given.drill !== undefined ? [] : [nothingIsLeft(context)];
});
