import { role } from '../lib/engine/resource/role.ts';
import { recoveryHasEnded } from '../lib/node/backup/recover.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** The recovered database server has replayed its write-ahead log. */
export default role<Variables>('recovered', ({ vars, given }) =>
  given?.['to-time'] === undefined ? [] : [recoveryHasEnded(vars)],
);
