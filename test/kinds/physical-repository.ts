import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { installMissing } from '../install-missing.ts';
import type { Postgres } from '../postgres.ts';

const compression = `backup_compression = zstd
backup_compression_format = tar
backup_compression_location = server
backup_compression_level = 1
`;
const asBarman = ['-u', 'barman', '--'];

/**
 * A repository of Barman with one base backup of a server, in pieces, whose log it goes on to receive.
 *
 * @param base a folder in which programs are found first
 */
export async function startRepository(base: string, source: Postgres) {
  installMissing([['/usr/bin/barman', 'barman']]);
  const folder = join(base, 'backup');
  mkdirSync(folder);
  execFileSync('chown', ['barman:barman', folder]);
  // The server is reached by its socket alone.
  for (const path of [dirname(source.socket), source.socket]) chmodSync(path, 0o755);
  const connection = `host=${source.socket} port=${source.port} user=${source.user}`;
  const configuration = join(base, 'barman.conf');
  const settingsOfBarman = (compressed: string) => `[barman]
barman_user = barman
barman_home = ${folder}
log_file = ${folder}/log
[state-db]
description = both databases
conninfo = ${connection} dbname=postgres
streaming_conninfo = ${connection}
backup_directory = ${folder}/state-db
path_prefix = /usr/lib/postgresql/15/bin
backup_method = postgres
${compressed}streaming_archiver = on
slot_name = barman
create_slot = auto
compression = gzip
`;
  writeFileSync(configuration, settingsOfBarman(compression));
  writeFileSync(join(base, 'barman'), `#!/bin/sh\nexec /usr/bin/barman -c ${configuration} "$@"\n`, {
    mode: 0o755,
  });
  const writeProgram = (name: string, ...templates: readonly string[]): string => {
    const text = templates.map((each) =>
      readFileSync(new URL(`../../templates/host/${each}`, import.meta.url), 'utf8'),
    );
    writeFileSync(join(base, name), text.join('\n'), { mode: 0o755 });
    return join(base, name);
  };
  const barman = (...words: string[]) =>
    execFileSync('runuser', [...asBarman, join(base, 'barman'), ...words], {
      encoding: 'utf8',
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  barman('receive-wal', '--create-slot', 'state-db');
  const receiver = spawn('runuser', [...asBarman, join(base, 'barman'), 'receive-wal', 'state-db'], {
    cwd: '/',
    stdio: 'ignore',
    detached: true,
  });
  const streaming = "select count(*) from pg_stat_replication where application_name ~ 'receive'";
  while (source.sql('postgres', streaming) === '0') await delay(200);
  // Without a whole segment Barman makes no backup.
  barman('-q', 'switch-wal', '--force', '--archive', '--archive-timeout', '60', 'state-db');
  const backupProgram = writeProgram(
    'base-backup',
    'as-user.sh',
    'base-backups.sh',
    'cut-base.sh',
    'base-backup.sh',
  );
  writeProgram('cut-backup', 'cut-backup.py');
  const program = writeProgram(
    'recovery',
    'as-user.sh',
    'unpack-recovery.sh',
    'cut-base.sh',
    'base-backups.sh',
    'timeline.sh',
    'recovery.sh',
  );
  const settings = join(base, 'recovery.conf');
  writeFileSync(
    settings,
    shellSettings({
      REPOSITORY: `${folder}/state-db`,
      CONNECTION: `${connection} dbname=source_state`,
      RESULTS: join(base, 'results'),
      PROGRAMS: '/usr/lib/postgresql/15/bin',
      IMAGE: 'postgres:15',
      STATE_USER: source.user,
      STATE_DATABASE: 'source_state',
      PROVER_DATABASE: 'source_hashes',
    }),
  );
  const env = { ...process.env, PATH: `${base}:${process.env.PATH}`, RECOVERY_CONF: settings };
  execFileSync(backupProgram, [join(base, 'results'), '--immediate-checkpoint'], { env });
  return {
    /** What a snapshot from it is told. */
    settings: {
      SOURCE: 'repository',
      CONF: settings,
      STAGED: join(folder, 'snapshot'),
      RECOVERY: program,
    },
    folder,
    /** Makes a base backup as the version before did: files, not compressed. */
    makeOldBackup() {
      writeFileSync(configuration, settingsOfBarman(''));
      barman('-q', 'backup', '--wait', '--immediate-checkpoint', 'state-db');
    },
    /** Waits until all log so far is there. */
    async arrives() {
      const end = source.sql('postgres', 'select pg_current_wal_flush_lsn()');
      const there = `select coalesce(max(sent_lsn) >= '${end}', false) from pg_stat_replication where application_name ~ 'receive'`;
      while (source.sql('postgres', there) !== 't') await delay(200);
      // It is received, but says so late.
      await delay(2000);
    },
    stop() {
      if (receiver.exitCode === null) process.kill(-(receiver.pid ?? 0), 'SIGTERM');
      source.sql(
        'postgres',
        `select pg_terminate_backend(active_pid, 5000) from pg_replication_slots where slot_name = 'barman' and active;
         select pg_drop_replication_slot('barman') from pg_replication_slots where slot_name = 'barman'`,
      );
    },
  };
}
