import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import type { Problem } from '../../engine/problem/problem.ts';
import { type Storage, s3Secrets } from '../variables/s3.ts';
import type { RawVariables } from '../variables/variables.ts';

/** Keys go into a line of curl's settings, and a colon would end the access key. */
const allowed = {
  pattern: /^[\x21-\x39\x3b-\x7e]+$/,
  reason: 'a key of a storage has letters, digits and marks alone, and no colon and no space',
  hint: 'copy the key again as the storage shows it',
};

/**
 * The storage of a host's snapshot, or of the copy of backups, with its keys.
 *
 * @param section that has it under `s3`
 * @param problems where all that is wrong is added
 * @returns undefined without one, or with a problem
 */
export async function readStorage(
  { placeOf, readSecret }: LoadedInventory<RawVariables>,
  { name, vars }: InventoryHost<RawVariables>,
  section: 'snapshot' | 'backup',
  problems: Problem[],
): Promise<Storage | undefined> {
  const { s3 } = vars[section];
  if (!s3) return undefined;
  const reading = s3Secrets.map(async (key) => {
    const reference = s3[key];
    if (reference === undefined) return [];
    const path = [section, 's3', key];
    const question = { name: path.join('.'), where: placeOf(name, path), allowed };
    const secret = await readSecret(reference, question).catch(
      (error) => void problems.push(...problemsIn(error)),
    );
    return [[key, secret] as const];
  });
  const keys = Object.fromEntries((await Promise.all(reading)).flat());
  const { access_key, secret_key, session_token } = keys;
  const { endpoint, region, path_style } = s3;
  if (!access_key || !secret_key || 'session_token' in keys !== (session_token !== undefined))
    return undefined;
  const token = session_token && { session_token };
  return { endpoint, region, path_style, access_key, secret_key, ...token };
}
