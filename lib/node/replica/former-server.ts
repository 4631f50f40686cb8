import { unknownUntil, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The verdict on a host that has the data of a server. During a switch the data of the former
 * server become those of a replica.
 *
 * @param otherwise the verdict in another run
 */
export function unlessItEnds({ given }: Pick<Context<Variables>, 'given'>, otherwise: Verdict): Verdict {
  return given.to === undefined ? otherwise : unknownUntil('the former server is a replica');
}
