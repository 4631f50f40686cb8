import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import type { Variables } from '../variables/variables.ts';
import { certificateIsInUse, serverCertificate } from './certificate.ts';
import { encryptionIsOptional, keyIsGone } from './demanded.ts';
import { clientsLearnNewAuthority } from './new-authority.ts';
import { authoritiesAreKnown } from './trusted.ts';

/**
 * What encryption needs around the container state-db. Without `tls` in the inventory it is
 * undone, which takes one read of a file where there is nothing to undo.
 *
 * @returns `before` the container, and `after` it
 */
export function encryptionOf(context: Context<Variables>): Record<'before' | 'after', readonly Resource[]> {
  const { tls } = context.vars;
  if (!tls) {
    return {
      before: [encryptionIsOptional(context, true)],
      after: [encryptionIsOptional(context, false), keyIsGone()],
    };
  }
  return {
    before: [
      ...clientsLearnNewAuthority(context, 'clients of state-db know its authority'),
      ...authoritiesAreKnown(context.vars),
      serverCertificate(context, tls),
    ],
    after: [certificateIsInUse(context)],
  };
}
