import { Problem } from '../../engine/problem/problem.ts';
import type { Context } from '../../engine/resource/role.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The folder for a snapshot that option --to names: `HOST:/FOLDER`, or `/FOLDER` on the
 * Database+Sync server; a physical one is on the first replica, if there is one, so that nothing
 * slows down the server.
 *
 * @returns undefined in a run that takes no snapshot, and on the hosts of such a run that it is
 * not for
 * @throws Problem for a folder on another host than that of the run, for a physical snapshot where
 * no server is, and for other archives to be published
 */
export function askedFolder({ host, hosts, given }: Context<Variables>): string | undefined {
  if (given.to === undefined) return undefined;
  const isPhysical = given.physical !== undefined;
  if (given.publish !== undefined && !isPhysical) {
    throw new Problem('--publish is for a physical snapshot', {
      hint: 'add --physical; without it leave --publish out: archives hold no roles and no passwords',
    });
  }
  const servers = hosts.filter(({ groups }) => groups.includes('replica'));
  const usual = (isPhysical && servers[0]) || databaseHost(hosts);
  const [, asked, folder = ''] = /^(?:([^/]*):)?(.*)$/.exec(given.to) ?? [];
  const named = asked ?? usual.name;
  if (isPhysical && ![...servers, databaseHost(hosts)].some(({ name }) => name === named)) {
    throw new Problem(
      `--to ${given.to}: a physical snapshot is taken where the database server or a replica is`,
      {
        hint: `name one of them: --to ${usual.name}:${folder}`,
      },
    );
  }
  if (named === host.name) return folder;
  if (isPhysical && asked === undefined && host.groups.includes('database')) return undefined;
  throw new Problem(`--to ${given.to} is on ${named}, and this run is on ${host.name}`, {
    hint: `name one host, and no --limit: --to ${host.name}:${folder}`,
  });
}
