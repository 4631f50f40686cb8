import { PrivateFileFault, pathFrom, readPrivateFile } from '../../engine/file/private-file.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Context } from '../../engine/resource/role.ts';
import { Secret } from '../../engine/secret/secret.ts';
import { backupHost } from '../backup/source.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

/** A recovery that the operator asks for. */
export interface AskedRecovery {
  /** Such as 2026-11-22T18:00:00Z, or `latest` for all that the backup has. */
  readonly time: string;
  readonly isDrill: boolean;
  /** Whether another data directory may be put aside. It is kept. */
  readonly setsAside: boolean;
  /** Whether it starts from the copy in the storage, in place of the repository. */
  readonly fromStorage: boolean;
}

/**
 * Reads the options of the playbook.
 *
 * @returns undefined in a run that recovers nothing
 * @throws Problem for another server than that of the inventory, and for a copy that the inventory
 * does not name
 */
export function askedRecovery({ hosts, given }: Context<Variables>): AskedRecovery | undefined {
  const time = given['to-time'];
  if (time === undefined) return undefined;
  const server = databaseHost(hosts).name;
  const { 'to-server': named = server } = given;
  if (named !== server) {
    throw new Problem(`--to-server ${named}: the Database+Sync server of the inventory is ${server}`, {
      hint: 'name the new server in group database of the inventory, in place of the lost one',
    });
  }
  const fromStorage = given['from-storage'] !== undefined;
  if (fromStorage && backupHost(hosts)?.vars.backup.copy === undefined) {
    throw new Problem('--from-storage: the inventory names no copy of the backups', {
      hint: 'add backup.copy_to and backup.s3, as the lost backup host had them (docs/backup-copy.md)',
    });
  }
  return {
    time,
    isDrill: given.drill !== undefined,
    setsAside: given['set-aside'] !== undefined,
    fromStorage,
  };
}

/** Of a file with private keys. Bytes. */
const largest = 64 * 1024;

/**
 * The private keys of age that read a copy: those of option --copy-identity, or that of the
 * inventory.
 *
 * @returns a line each; undefined without any
 * @throws Problem for a file that cannot be used, or has no key. Its content is never shown.
 */
export async function identitiesOfCopy({ hosts, given }: Context<Variables>): Promise<Secret | undefined> {
  const file = given['copy-identity'];
  if (file === undefined) return backupHost(hosts)?.vars.backup.copy?.identity;
  const reading = readPrivateFile(pathFrom(process.cwd(), file), largest);
  const text = await reading.catch((error: unknown) => {
    if (!(error instanceof PrivateFileFault)) throw error;
    throw new Problem(`--copy-identity ${file}: the file ${error.message}`, { hint: error.hint });
  });
  const keys = text.match(/^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/gm);
  if (keys) return new Secret(keys.join('\n'));
  throw new Problem(`--copy-identity: ${file} has no private key of age`, {
    hint: 'name a file as age-keygen makes it, with a line AGE-SECRET-KEY-1…; a key of SSH is never sent to a host',
  });
}
