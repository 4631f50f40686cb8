import { command } from '../../engine/host/step.ts';
import { drift, type EveryHost, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import type { Variables } from '../variables/variables.ts';
import { repositoryOf } from './folders.ts';
import { backupHost } from './source.ts';

/**
 * A database server that begins without data, or from a snapshot, needs a repository of its own. A
 * copy of the former server has the same system identifier, and writes other log under the same
 * names: Barman takes that for the log of the former server, and a recovery ends before it.
 *
 * @returns the resource, with the condition that the backup host has nothing of another server;
 * the resource alone without a backup host
 */
export function withOwnRepository(context: Context<Variables>, resource: Resource): Resource {
  const everyHost = noBackupsOfAnother(context);
  return everyHost ? { ...resource, everyHost } : resource;
}

/**
 * A new database server may begin in this data directory, which may exist already.
 *
 * @returns nothing without a backup host
 */
export function newServerMayBegin(context: Context<Variables>, data: string): readonly Resource[] {
  const everyHost = noBackupsOfAnother(context);
  if (!everyHost) return [];
  const begins: Resource = {
    name: 'a database server without data may begin',
    // The container makes the database; nothing is changed before.
    provesItself: true,
    check: async (host) =>
      (await host.stat(`${data}/PG_VERSION`))
        ? ok
        : drift(`${data} holds no database`, [command`test -d ${data}`]),
    everyHost,
  };
  return [begins];
}

function noBackupsOfAnother(context: Context<Variables>): EveryHost | undefined {
  const backup = backupHost(context.hosts);
  if (!backup) return undefined;
  const repository = repositoryOf(backup.vars);
  return {
    name: 'no backups are of another server',
    check: async (host) => {
      if (host.name !== backup.name) return ok;
      const folders = ['base', 'wals', 'streaming'].map((name) => `${repository}/${name}`);
      // Barman makes its list of segments beside the first one: xlog.db, and from version 3.13 on state-db-xlog.db.
      const found = await host.$`find ${folders} -type f ! -name ${'*xlog.db'} -print -quit`;
      return found.text() === ''
        ? ok
        : drift(`${repository} holds backups of a database server, and this one begins without its data`);
    },
    hint: `where that server's data are lost, recover.mjs has them. To begin without them, keep the backups aside. On ${backup.name}: runuser -u barman -- barman receive-wal --stop state-db; mv ${repository} ${repository}.before`,
  };
}
