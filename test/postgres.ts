import { execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { installMissing } from './install-missing.ts';

/** Debian's directory for the programs of the deployed major version. */
const programs = '/usr/lib/postgresql/15/bin';
const superuser = 'state_user';

/**
 * A separate PostgreSQL 15, reached by its socket alone, with trust authentication as in the
 * container of the deployment.
 */
export interface Postgres {
  readonly user: string;
  /** Directory of the socket. */
  readonly socket: string;
  readonly port: number;
  /** Process number of the server. */
  readonly pid: number;
  /** The environment of its clients. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Runs SQL.
   *
   * @returns rows, with | between columns.
   * @throws Error at the first statement that fails
   */
  sql(database: string, statements: string): string;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

const asPostgres = ['--reuid=postgres', '--regid=postgres', '--init-groups'];

function initialize(data: string): void {
  const words = [
    '--auth=trust',
    '--no-sync',
    '--encoding=UTF8',
    '--locale=C',
    `--username=${superuser}`,
    data,
  ];
  execFileSync('setpriv', [...asPostgres, `${programs}/initdb`, ...words], { cwd: data, stdio: 'ignore' });
}

/**
 * Starts one. Needs root; installs Debian's package if it is missing.
 *
 * @param parent directory for its data
 * @param settings options of the server
 * @param fill makes its data directory; without it there is an empty server
 */
export async function startPostgres(
  parent: string,
  settings: Readonly<Record<string, string>>,
  fill = initialize,
): Promise<Postgres> {
  installMissing([[`${programs}/postgres`, 'postgresql-15']]);
  const folder = mkdtempSync(join(parent, 'postgres-'));
  const [data, socket] = [join(folder, 'data'), join(folder, 'socket')];
  const id = (option: string) => Number(execFileSync('id', [option, 'postgres'], { encoding: 'utf8' }));
  for (const path of [data, socket]) mkdirSync(path, { mode: 0o700 });
  for (const path of [folder, data, socket]) chownSync(path, id('-u'), id('-g'));
  fill(data);
  const port = Number(settings.port ?? 5432);
  const all = { listen_addresses: '', unix_socket_directories: socket, port: String(port), ...settings };
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // It ends with the process that started it, in any case.
  const words = ['--pdeathsig', 'INT', ...asPostgres, `${programs}/postgres`, '-D', data, ...options];
  const server = spawn('setpriv', words, { cwd: folder, stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const environment = { PGHOST: socket, PGPORT: String(port), PGUSER: superuser };
  const env = { ...process.env, ...environment };
  const sql = (database: string, statements: string) =>
    execFileSync('psql', ['-XqAt', '--set=ON_ERROR_STOP=1', `--dbname=${database}`], {
      env,
      input: statements,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
    }).trim();
  for (let tries = 0; !answers(); tries += 1) {
    if (tries === 100 || server.exitCode !== null) throw new Error(`PostgreSQL does not start in ${folder}`);
    await delay(100);
  }
  function answers(): boolean {
    try {
      execFileSync('pg_isready', ['--quiet'], { env });
      return true;
    } catch {
      return false;
    }
  }
  return {
    user: superuser,
    socket,
    port,
    pid: server.pid ?? 0,
    environment,
    sql,
    async stop() {
      server.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
