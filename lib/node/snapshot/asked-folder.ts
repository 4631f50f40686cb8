import { Problem } from '../../engine/problem/problem.ts';
import type { Context } from '../../engine/resource/role.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The folder for a snapshot that option --to names, `/FOLDER` on the Database+Sync server or
 * `HOST:/FOLDER`.
 *
 * @returns undefined in a run that takes no snapshot
 * @throws Problem for a folder on another host than that of the run
 */
export function askedFolder({ host, hosts, given }: Context<Variables>): string | undefined {
  if (given.to === undefined) return undefined;
  const [, named = databaseHost(hosts).name, folder = ''] = /^(?:([^/]*):)?(.*)$/.exec(given.to) ?? [];
  if (named === host.name) return folder;
  throw new Problem(`--to ${given.to} is on ${named}, and this run is on ${host.name}`, {
    hint: `name one host, and no --limit: --to ${host.name}:${folder}`,
  });
}
