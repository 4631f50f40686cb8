import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { installMissing } from '../install-missing.ts';
import type { Postgres } from '../postgres.ts';

const asBarman = ['-u', 'barman', '--'];

/**
 * A repository of Barman with one base backup of a server, whose log it goes on to receive.
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
  writeFileSync(
    configuration,
    `[barman]
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
streaming_archiver = on
slot_name = barman
create_slot = auto
compression = gzip
`,
  );
  writeFileSync(join(base, 'barman'), `#!/bin/sh\nexec /usr/bin/barman -c ${configuration} "$@"\n`, {
    mode: 0o755,
  });
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
  source.sql('postgres', "select pg_create_restore_point('first'), pg_switch_wal()");
  // Without a whole segment Barman makes no backup.
  for (let tries = 0; !backupIsMade(); tries += 1) {
    if (tries === 30) throw new Error(barman('check', 'state-db'));
    await delay(1000);
  }
  // Barman takes it for whole when its last segment is there.
  while (
    !/status=DONE/.test(
      execFileSync('sh', ['-c', `cat ${folder}/state-db/base/*/backup.info`], { encoding: 'utf8' }),
    )
  ) {
    source.sql('postgres', "select pg_create_restore_point('whole'), pg_switch_wal()");
    await delay(500);
    barman('archive-wal', 'state-db');
    barman('check-backup', 'state-db', 'latest');
  }
  function backupIsMade(): boolean {
    try {
      barman('archive-wal', 'state-db');
      barman('backup', '--immediate-checkpoint', 'state-db');
      return true;
    } catch {
      return false;
    }
  }
  const program = join(base, 'recovery');
  const text = readFileSync(new URL('../../templates/host/recovery.sh', import.meta.url));
  writeFileSync(program, text, { mode: 0o755 });
  const settings = join(base, 'recovery.conf');
  writeFileSync(
    settings,
    shellSettings({
      REPOSITORY: `${folder}/state-db`,
      CONNECTION: `${connection} dbname=source_state`,
      RESULTS: join(base, 'results'),
      IMAGE: 'postgres:15',
      STATE_USER: source.user,
      STATE_DATABASE: 'source_state',
      PROVER_DATABASE: 'source_hashes',
    }),
  );
  return {
    /** What a snapshot from it is told. */
    settings: {
      SOURCE: 'repository',
      CONF: settings,
      STAGED: join(folder, 'snapshot'),
      RECOVERY: program,
    },
    folder,
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
