import { role } from '../lib/engine/resource/role.ts';
import { recoveryIsForgotten } from '../lib/node/backup/recover.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** A recovery leaves nothing behind but the recovered databases. */
export default role<Variables>('recovery-end', (context) =>
  context.given?.['to-time'] === undefined || context.given.drill !== undefined ? [] : [recoveryIsForgotten(context)],
);
