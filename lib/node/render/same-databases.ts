import toml from '@iarna/toml';
import { parse as parseYaml } from 'yaml';

/** What one file says of how to reach one database, or, without host and port, of how the database is made. */
export interface DatabaseSettings {
  readonly database: 'state' | 'pool' | 'prover';
  readonly file: string;
  readonly host?: string;
  readonly port?: string;
  readonly user: string;
  readonly password: string;
  readonly name: string;
}

export interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** From where the state database's server is reached under which names, as `host:port`. */
export type Address = `${string}:${string}`;

/**
 * Everything that a host's rendered files say of the databases. Read back from the files themselves, as the programs will read them.
 */
export function databaseSettings(files: readonly NamedText[]): DatabaseSettings[] {
  return files.flatMap(
    ({ name, text }) => readers[name]?.(text).map((settings) => ({ ...settings, file: name })) ?? [],
  );
}

/**
 * Where files differ (spec part 1: host, user and password of every database are the same in all of them), in words and without any
 * password.
 *
 * @param own of the host in question
 * @param server of the Database+Sync server, whose state and prover databases every host uses
 * @param stateAddresses by which the host may reach that server
 */
export function disagreements(
  own: readonly DatabaseSettings[],
  server: readonly DatabaseSettings[],
  stateAddresses: readonly Address[],
): string[] {
  // The first that makes a database is what all others are held against.
  const made = [
    ...server.filter(({ database }) => database !== 'pool'),
    ...own.filter(({ database }) => database === 'pool'),
  ];
  const reference = (database: string) =>
    made.find((settings) => settings.database === database && settings.host === undefined);
  return own.flatMap((settings) => {
    const { database, file, host, port } = settings;
    const like = reference(database);
    const differing = (['user', 'name', 'password'] as const)
      .filter((key) => like !== undefined && settings[key] !== like[key])
      .map((key) => {
        const values = key === 'password' ? '' : ` (${settings[key]} and ${like?.[key]})`;
        return `the ${database} database's ${key} differs in ${file} and ${like?.file}${values}`;
      });
    const allowed: readonly string[] = database === 'pool' ? ['pool-db:5432'] : stateAddresses;
    const address = `${host}:${port}`;
    const wrong = host !== undefined && !allowed.includes(address);
    return wrong
      ? [...differing, `${file} reaches the ${database} database at ${address}, which is not ${allowed.join(' or ')}`]
      : differing;
  });
}

type Reading = Omit<DatabaseSettings, 'file'>;

const readers: Readonly<Record<string, (text: string) => Reading[]>> = {
  'docker-compose.yml': fromCompose,
  'init_prover_db.sql': fromInitScript,
  'node.config.toml': (text) => fromToml(text, { State: 'state', StateDB: 'state', Pool: 'pool', PoolDB: 'pool' }),
  'snapshot_restore.toml': (text) => fromToml(text, { State: 'state', StateDB: 'state', HashDB: 'prover' }),
  'prover.config.json': fromProver,
};

interface Compose {
  readonly services: Readonly<Record<string, { readonly environment?: Readonly<Record<string, unknown>> } | undefined>>;
}

function fromCompose(text: string): Reading[] {
  const { services } = parseYaml(text, { version: '1.1' }) as Compose;
  return (['state', 'pool'] as const).flatMap((database) => {
    const environment = services[`${database}-db`]?.environment;
    if (!environment) return [];
    const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: name } = environment;
    return [{ database, user: String(user), password: String(password), name: String(name) }];
  });
}

function fromInitScript(text: string): Reading[] {
  const [, user, password] = /^CREATE USER "([^"]*)" WITH PASSWORD '([^']*)';$/m.exec(text) ?? [];
  const [, name] = /^CREATE DATABASE "([^"]*)";$/m.exec(text) ?? [];
  if (user === undefined || password === undefined || name === undefined) return [];
  return [{ database: 'prover', user, password, name }];
}

/** Sections keep their keys themselves or in a table DB below them, by generation. */
function fromToml(text: string, sections: Readonly<Record<string, DatabaseSettings['database']>>): Reading[] {
  const parsed = toml.parse(text);
  return Object.entries(sections).flatMap(([section, database]) => {
    const outer = parsed[section] as toml.JsonMap | undefined;
    const keys = (outer?.DB ?? outer) as toml.JsonMap | undefined;
    if (keys?.User === undefined) return [];
    const { Host, Port, User, Password, Name } = keys;
    return [
      {
        database,
        host: String(Host),
        port: String(Port),
        user: String(User),
        password: String(Password),
        name: String(Name),
      },
    ];
  });
}

function fromProver(text: string): Reading[] {
  const { databaseURL } = JSON.parse(text) as { databaseURL: string };
  const { hostname, port, username, password, pathname } = new URL(databaseURL);
  return [{ database: 'prover', host: hostname, port, user: username, password, name: pathname.slice(1) }];
}
