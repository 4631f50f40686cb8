import { Problem } from '../../engine/problem/problem.ts';
import type { Context } from '../../engine/resource/role.ts';
import { databaseHost } from '../variables/hosts.ts';
import { isOfStorage } from '../variables/s3.ts';
import type { Variables } from '../variables/variables.ts';
import { sourceHere } from './physical-source.ts';
import { targetOf } from './target.ts';

/**
 * The folder for a snapshot that option --to names, `/FOLDER` on the Database+Sync server or
 * `HOST:/FOLDER`; or `s3://BUCKET/FOLDER` in a storage, to which the host sends it. A physical one
 * is on its source: option --from, or the host that the playbook chose.
 *
 * @returns undefined in a run that takes no snapshot
 * @throws Problem for a folder on another host than that of the run, and for a physical snapshot
 * where nothing can be its source
 */
export function askedFolder(context: Context<Variables>): string | undefined {
  const { host, hosts, given } = context;
  if (given.to === undefined) return undefined;
  const isPhysical = given.physical !== undefined;
  const server = databaseHost(hosts).name;
  const { host: asked, folder } = targetOf(given.to);
  const named = asked ?? (isPhysical ? (given.from ?? host.name) : server);
  if (given.from !== undefined && named !== given.from) {
    throw new Problem(`--to ${given.to} is on ${named}, and --from takes the snapshot on ${given.from}`, {
      hint: `the folder of a physical snapshot is on its source: --from ${given.from} --to ${folder}`,
    });
  }
  if (named !== host.name) {
    throw new Problem(`--to ${given.to} is on ${named}, and this run is on ${host.name}`, {
      hint: `name one host, and no --limit: --to ${host.name}:${folder}`,
    });
  }
  if (isPhysical && !sourceHere(context)) {
    throw new Problem(
      `--to ${given.to}: a physical snapshot is taken where the database server, a replica or the repository of backups is`,
      { hint: `leave the host out, and one of them is chosen: --to ${folder}` },
    );
  }
  if (isOfStorage(folder) && !host.vars.snapshot.s3) {
    throw new Problem(`--to ${given.to} is in a storage, and the inventory names none`, {
      hint: 'add snapshot.s3 with its endpoint, access_key and secret_key',
    });
  }
  return folder;
}
