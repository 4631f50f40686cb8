import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { problemsIn } from '../../engine/inventory/problem-list.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Secret } from '../../engine/secret/secret.ts';
import type { BackupCopy, RawVariables } from '../variables/variables.ts';
import { readStorage } from './storage.ts';

const allowed = {
  pattern: /^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/,
  reason: 'a private key of age is a line AGE-SECRET-KEY-1… with 74 characters',
  hint: 'make one with age-keygen, and give its line AGE-SECRET-KEY-1… alone',
};

/**
 * Where the backup host copies its backups.
 *
 * @param problems where all that is wrong is added
 * @returns undefined for another host, where nothing is copied, or with a problem
 */
export async function readBackupCopy(
  inventory: LoadedInventory<RawVariables>,
  host: InventoryHost<RawVariables>,
  problems: Problem[],
): Promise<BackupCopy | undefined> {
  const { copy_to, s3, recipients = [] } = host.vars.backup;
  if (!host.groups.includes('backup')) return undefined;
  const found: Problem[] = [];
  const wrong = (key: string, what: string, hint: string, ...more: number[]) => {
    const where = inventory.placeOf(host.name, ['backup', key, ...more]);
    found.push(new Problem(`backup.${key} ${what}`, { where, hint }));
  };
  const unused = (['s3', 'recipients', 'identity'] as const).filter((key) => host.vars.backup[key]);
  if (copy_to === undefined)
    for (const key of unused)
      wrong(key, 'has no use without backup.copy_to', 'add copy_to, s3://bucket/folder, or leave it out');
  else if (!s3)
    wrong(
      's3',
      `is missing: ${copy_to} is in a storage, which needs endpoint, access_key and secret_key`,
      'add it under backup, as snapshot.s3 has it (docs/backup-copy.md)',
    );
  for (const [at, recipient] of recipients.entries())
    if (!(await isRecipient(recipient)))
      wrong('recipients', 'has a public key of age that is misspelt', 'copy it again', at);
  const identity = await readIdentity(inventory, host, found);
  const storage = copy_to === undefined ? undefined : await readStorage(inventory, host, 'backup', found);
  problems.push(...found);
  if (found.length > 0 || copy_to === undefined || !storage) return undefined;
  const own = identity ? [await recipientOf(identity)] : [];
  const all = [...new Set([...own, ...recipients])];
  return { target: copy_to, storage, recipients: all, ...(identity && { identity }) };
}

/** Its last characters are a checksum of the others. */
async function isRecipient(text: string): Promise<boolean> {
  const { Encrypter } = await import('age-encryption');
  try {
    new Encrypter().addRecipient(text);
    return true;
  } catch {
    return false;
  }
}

async function recipientOf(identity: Secret): Promise<string> {
  // Loaded late: most inventories need nothing of it.
  const { identityToRecipient } = await import('age-encryption');
  return identityToRecipient(identity.reveal());
}

/** The private key of the inventory. Adds to the problems. */
async function readIdentity(
  { placeOf, readSecret }: LoadedInventory<RawVariables>,
  { name, vars }: InventoryHost<RawVariables>,
  problems: Problem[],
): Promise<Secret | undefined> {
  const { identity: reference } = vars.backup;
  if (reference === undefined) return undefined;
  const where = placeOf(name, ['backup', 'identity']);
  const reading = readSecret(reference, { name: 'backup.identity', where, allowed });
  const identity = await reading.catch((error) => void problems.push(...problemsIn(error)));
  if (!identity) return undefined;
  if ((await recipientOf(identity).catch(() => undefined)) !== undefined) return identity;
  problems.push(
    new Problem('backup.identity is a private key of age that is misspelt', { where, hint: allowed.hint }),
  );
  return undefined;
}
