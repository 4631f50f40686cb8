import { readFileSync } from 'node:fs';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { type Content, secretContent } from '../../engine/resource/file/content.ts';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { verifyingWords } from '../databases/tls-files.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { postgresPrograms } from '../variables/generation.ts';
import { databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { repositoryOf, resultsFolder } from './folders.ts';
import { recoveryConf } from './programs.ts';
import { backupRole } from './source.ts';

type Deployment = Pick<Context<Variables>, 'hosts' | 'vars'>;

const barmanTemplate = readFileSync(
  new URL('../../../templates/backup/barman.conf', import.meta.url),
  'utf8',
);

/** The age of the newest base backup at which it is too old: one base backup may fail. Hours. */
export function oldestHours({ backup }: Variables): number {
  return 2 * backup.every_hours + 1;
}

/** How the backup host connects to the database server, in the words of libpq. */
export function connectionToServer({ hosts }: Pick<Deployment, 'hosts'>): string {
  const { connection, vars } = databaseHost(hosts);
  const { ports, credentials } = vars;
  const known = `host=${connection.address} port=${ports.state_db} user=${backupRole} dbname=${credentials.state.database} connect_timeout=10`;
  return `${known} ${verifyingWords(vars)}`.trimEnd();
}

/** The password of that connection, for libpq. */
export function passwordsOfBarman({ backup }: Variables): Content {
  return secretContent(`*:*:*:${backupRole}:${backup.password?.reveal()}\n`, /:/);
}

/** Barman's settings, with the addresses of the database server. */
export function barmanFile({ hosts, vars }: Deployment): string {
  const { connection, vars: ofServer } = databaseHost(hosts);
  const values: Readonly<Record<string, string | number>> = {
    address: connection.address,
    port: ofServer.ports.state_db,
    user: backupRole,
    database: ofServer.credentials.state.database,
    folder: dataFolder(vars, 'backup'),
    programs: postgresPrograms,
    slot: 'barman',
    keep_days: vars.backup.keep_days,
    oldest_hours: oldestHours(vars),
    verifying: verifyingWords(vars),
  };
  const text = barmanTemplate.replaceAll(/\{\{ (\w+) \}\}/g, (_, name: string) => String(values[name]));
  return text.replaceAll(/ +$/gm, '');
}

/** The settings of the programs for base backups and recoveries. */
export function recoverySettings({ hosts, vars }: Deployment): Resource {
  const { state, prover } = databaseHost(hosts).vars.credentials;
  const settings = shellSettings({
    REPOSITORY: repositoryOf(vars),
    CONNECTION: connectionToServer({ hosts }),
    RESULTS: resultsFolder,
    PROGRAMS: postgresPrograms,
    IMAGE: vars.images.database,
    ...(vars.image_keys?.database !== undefined && { PULL: 'never' }),
    STATE_USER: state.user,
    STATE_DATABASE: state.database,
    PROVER_DATABASE: prover.database,
  });
  return file(recoveryConf).content(settings);
}
