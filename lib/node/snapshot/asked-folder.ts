import { Problem } from '../../engine/problem/problem.ts';
import type { Context } from '../../engine/resource/role.ts';
import { databaseHost } from '../variables/hosts.ts';
import { isOfStorage } from '../variables/s3.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The folder for a snapshot that option --to names, `/FOLDER` on the Database+Sync server or
 * `HOST:/FOLDER`; or `s3://BUCKET/FOLDER` in a storage, to which the host sends it. A physical one
 * is taken on a host with a server: there, or on a replica.
 *
 * @returns undefined in a run that takes no snapshot
 * @throws Problem for a folder on another host than that of the run, for a physical snapshot where
 * no server is, and for archives to be published
 */
export function askedFolder({ host, hosts, given }: Context<Variables>): string | undefined {
  if (given.to === undefined) return undefined;
  const server = databaseHost(hosts).name;
  const [, named = server, folder = ''] = /^(?:([^/]*):(?=\/[^/]|s3:))?(.*)$/.exec(given.to) ?? [];
  if (given.physical === undefined && given.publish !== undefined) {
    throw new Problem('--publish is for a physical snapshot', {
      hint: 'add --physical; without it leave --publish out: archives hold no roles and no passwords',
    });
  }
  if (named !== host.name) {
    throw new Problem(`--to ${given.to} is on ${named}, and this run is on ${host.name}`, {
      hint: `name one host, and no --limit: --to ${host.name}:${folder}`,
    });
  }
  if (given.physical !== undefined && !host.groups.some((group) => ['database', 'replica'].includes(group))) {
    throw new Problem(
      `--to ${given.to}: a physical snapshot is taken where the database server or a replica is`,
      { hint: `name one of them: --to ${server}:${folder}` },
    );
  }
  if (isOfStorage(folder) && !host.vars.snapshot.s3) {
    throw new Problem(`--to ${given.to} is in a storage, and the inventory names none`, {
      hint: 'add snapshot.s3 with its endpoint, access_key and secret_key',
    });
  }
  return folder;
}
