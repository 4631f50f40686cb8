import { role } from '../lib/engine/resource/role.ts';
import { authoritiesAreKnown } from '../lib/node/encryption/trusted.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The clients of database servers know their authorities, before a server has a certificate of a
 * new one. Without encryption nothing is asked, and a drill of a recovery changes nothing.
 */
export default role<Variables>('certificate-authority', ({ vars, given }) =>
  given.drill === undefined ? authoritiesAreKnown(vars) : [],
);
