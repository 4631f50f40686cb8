import { readFileSync } from 'node:fs';
import type { Reader } from '../lib/engine/host/host.ts';
import { shellSettings } from '../lib/engine/host/shell-settings.ts';
import { secretContent } from '../lib/engine/resource/file/content.ts';
import { bytesIn } from '../lib/engine/resource/job/job.ts';
import { directory, dockerImage, file, job, packages, schedule, service } from '../lib/engine/resource/kinds.ts';
import { drift, ok, type Resource } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { resultsFolder } from '../lib/node/backup/folders.ts';
import { backupRole } from '../lib/node/backup/source.ts';
import { textfiles } from '../lib/node/monitor/exporters.ts';
import { dockerWaitsForData, placeIsRemembered } from '../lib/node/server/data-disks.ts';
import { product } from '../lib/node/server/product.ts';
import { backupFolder } from '../lib/node/variables/data-folders.ts';
import { postgresVersion } from '../lib/node/variables/generation.ts';
import { databaseHost } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const read = (path: string) => readFileSync(new URL(`../templates/${path}`, import.meta.url), 'utf8');

/** What recovers from the repository, on the backup host. */
export const recoveryProgram = `/usr/local/lib/${product}/recovery`;
const library = `/usr/local/lib/${product}`;
const programs = `/usr/lib/postgresql/${postgresVersion}/bin`;
/** Seconds between two checks of the repository. */
const checkEvery = 60;

const baseBackup = `${library}/base-backup ${resultsFolder}`;

/** One base backup may fail. */
const oldestHours = ({ backup }: Variables) => 2 * backup.every_hours + 1;

/** Barman's settings, with the addresses of the database server. */
function barmanFile({ hosts, vars }: Pick<Context<Variables>, 'hosts' | 'vars'>): string {
  const { connection, vars: ofServer } = databaseHost(hosts);
  const { keep_days } = vars.backup;
  const values: Readonly<Record<string, string | number>> = {
    address: connection.address,
    port: ofServer.ports.state_db,
    user: backupRole,
    database: ofServer.credentials.state.database,
    folder: backupFolder(vars),
    programs,
    slot: 'barman',
    keep_days,
    oldest_hours: oldestHours(vars),
  };
  return read('backup/barman.conf').replaceAll(/\{\{ (\w+) \}\}/g, (_, name: string) => String(values[name]));
}

/**
 * Backups of both databases, from which they can be recovered as they were at any moment of the last days: Barman with its repository, a
 * first base backup, further ones by a timer, and a check each minute.
 */
export default role<Variables>('backup', (context) => {
  const { host, hosts, vars } = context;
  if (!host.groups.includes('backup')) return [];
  const server = databaseHost(hosts);
  const { port, database } = { port: server.vars.ports.state_db, database: server.vars.credentials.state.database };
  const { address } = server.connection;
  const folder = backupFolder(vars);
  const { password } = vars.backup;
  const ofBarman = (path: string) => directory(path).mode(0o700).owner('barman').group('barman');
  const script = (name: string) =>
    file(`${library}/${name}`)
      .content(read(`host/${name}.sh`))
      .mode(0o755);
  const connection = `host=${address} port=${port} user=${backupRole} dbname=${database} connect_timeout=10`;
  return [
    // cron runs the package's own `barman cron` each minute, which keeps the receiver running.
    packages('barman', 'cron', `postgresql-client-${postgresVersion}`),
    service('cron'),
    ...dockerWaitsForData(context),
    ofBarman(folder),
    ...placeIsRemembered(vars, 'backup', folder),
    file('/var/lib/barman/.pgpass')
      .content(secretContent(`*:*:*:${backupRole}:${password?.reveal()}\n`, /:/))
      .owner('barman')
      .group('barman'),
    file('/etc/barman.d/state-db.conf').content(barmanFile(context)),
    script('base-backup'),
    script('backup-check'),
    script('recovery'),
    file(`/etc/${product}/recovery.conf`).content(
      shellSettings({
        REPOSITORY: `${folder}/state-db`,
        CONNECTION: connection,
        RESULTS: resultsFolder,
        IMAGE: vars.images.database,
        STATE_USER: server.vars.credentials.state.user,
        STATE_DATABASE: database,
        PROVER_DATABASE: server.vars.credentials.prover.database,
      }),
    ),
    dockerImage(vars.images.database),
    job('a base backup is there', {
      unit: `${product}-first-backup`,
      script:
        shellSettings({
          PROGRAMS: programs,
          CONNECTION: connection,
          BASE_BACKUP: baseBackup,
        }) + read('host/first-backup.sh'),
      done: (host) => hasBackup(host, folder),
      progress: (host) => bytesIn(host, [`${folder}/state-db/base`], 'copying the database server'),
    }),
    ...schedules(vars, connection),
  ];
});

/**
 * Further base backups, the check of the repository, and the drill if the inventory has one.
 *
 * @param connection to the server
 */
function schedules(vars: Variables, connection: string): Resource[] {
  const folder = backupFolder(vars);
  const { every_hours, drill_hours } = vars.backup;
  // The drill has twice its own interval.
  const words = [`'${connection}'`, textfiles, resultsFolder, oldestHours(vars), 2 * drill_hours];
  return [
    schedule(`${product}-base-backup`, {
      every: every_hours * 3600,
      command: baseBackup,
      description: 'Base backup of the databases',
    }),
    schedule(`${product}-backup-check`, {
      every: checkEvery,
      command: `${library}/backup-check ${folder}/state-db ${words.join(' ')}`,
      description: 'Check of the backups of the databases',
    }),
    ...(drill_hours > 0
      ? [
          schedule(`${product}-recovery-drill`, {
            every: drill_hours * 3600,
            command: `${recoveryProgram} drill ${folder}/drill latest`,
            description: 'Recovery drill',
          }),
        ]
      : []),
  ];
}

async function hasBackup(host: Reader, folder: string) {
  const [found, corrupt] = await Promise.all([
    host.$`grep -lx status=DONE ${folder}/state-db/base/*/backup.info`,
    host.stat(`${resultsFolder}/verify-failed`),
  ]);
  if (corrupt) return drift('the newest base backup is corrupt');
  return found.ok ? ok : drift('there is no whole base backup');
}
