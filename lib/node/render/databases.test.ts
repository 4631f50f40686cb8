import toml from '@iarna/toml';
import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { tokenizeSql } from '../../engine/template/sql.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { overrideFaults } from './overrides/overrides.ts';
import { type RenderedHost, renderHost } from './render.ts';

// Spec part 1: host, user and password of every database are identical in all files. All values of
// one database differ from those of the others, so that none can be mistaken for another.

interface Settings {
  readonly host: string;
  readonly user: string;
  readonly password: string;
  readonly name: string;
}

const passwords = { state: 'state.Pw~1', pool: 'pool.Pw~2', prover: 'prover.Pw~3' } as const;
type Database = keyof typeof passwords;

const own = (database: Database, host: string): Settings => ({
  host,
  user: `${database}_user_of_its_own`,
  password: passwords[database],
  name: `${database}_db_of_its_own`,
});

const changes = (generation: 'current' | 'older'): Changes => [
  [['vars', 'generation'], generation],
  [['vars', 'ports'], { state_db: 15432, pool_db: 15433 }],
  ...(Object.keys(passwords) as Database[]).flatMap((database): Changes => {
    const { user, name } = own(database, '');
    return [
      [['vars', 'credentials', database, 'user'], user],
      [['vars', 'credentials', database, 'database'], name],
    ];
  }),
];

/** Every setting of a database in a host's files, `FILE SECTION` -> its values. */
function settingsIn({ files }: RenderedHost, generation: 'current' | 'older'): Record<string, Settings> {
  const text = (name: string) => files.find((file) => file.name === name)?.content.text ?? '';
  const [state, pool] = generation === 'current' ? ['State.DB', 'Pool.DB'] : ['StateDB', 'Pool.DB'];
  const fromToml = (file: string, section: string): [string, Settings][] => {
    const table = section
      .split('.')
      .reduce<Record<string, unknown> | undefined>(
        (at, key) => at?.[key] as Record<string, unknown> | undefined,
        text(file) === '' ? undefined : toml.parse(text(file)),
      );
    if (!table) return [];
    const { Host, Port, User, Password, Name } = table as Record<string, string>;
    return [
      [
        `${file} ${section}`,
        { host: `${Host}:${Port}`, user: `${User}`, password: `${Password}`, name: `${Name}` },
      ],
    ];
  };
  const url = new URL(JSON.parse(text('prover.config.json')).databaseURL);
  const services = parseYaml(text('docker-compose.yml')).services as Record<string, Record<string, never>>;
  const made = Object.entries(services).flatMap(([service, { environment, ports }]): [string, Settings][] => {
    if (!environment) return [];
    const { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: name } = environment;
    return [[`docker-compose.yml ${service}`, { host: `${ports?.[0]}`, user, password, name }]];
  });
  const script = tokenizeSql(text('init_prover_db.sql')).filter(
    ({ kind }) => kind !== 'comment' && kind !== 'text',
  );
  const names = new Set(script.flatMap(({ kind, value }) => (kind === 'identifier' ? [value] : [])));
  const [name = '', user = ''] = names;
  const [password = ''] = script.flatMap(({ kind, value }) => (kind === 'literal' ? [value] : []));
  return Object.fromEntries([
    ...made,
    ...(names.size > 0 ? [['init_prover_db.sql', { host: '', user, password, name }]] : []),
    ...fromToml('node.config.toml', state ?? ''),
    ...fromToml('node.config.toml', pool ?? ''),
    ...fromToml('snapshot_restore.toml', state ?? ''),
    ...fromToml('snapshot_restore.toml', 'HashDB'),
    [
      'prover.config.json',
      { host: url.host, user: url.username, password: url.password, name: url.pathname.slice(1) },
    ],
  ]);
}

async function settingsOf(host: string, generation: 'current' | 'older') {
  const { hosts } = await loadDeployment(await labDeployment(changes(generation)));
  const found = hosts.find(({ name }) => name === host);
  if (!found) throw new Error(host);
  return settingsIn(await renderHost({ host: found, vars: found.vars, hosts }), generation);
}

test.each([
  ['current', 'State.DB', '127.0.0.1'],
  ['older', 'StateDB', 'state-db'],
] as const)('all files agree on every database, %s generation', async (generation, state, restoreHost) => {
  expect(await settingsOf('db-1', generation)).toEqual({
    'docker-compose.yml state-db': own('state', '15432:5432'),
    'docker-compose.yml pool-db': own('pool', '15433:5432'),
    'init_prover_db.sql': own('prover', ''),
    [`node.config.toml ${state}`]: own('state', 'state-db:5432'),
    'node.config.toml Pool.DB': own('pool', 'pool-db:5432'),
    [`snapshot_restore.toml ${state}`]: own('state', `${restoreHost}:15432`),
    'snapshot_restore.toml HashDB': own('prover', `${restoreHost}:15432`),
    'prover.config.json': own('prover', 'state-db:5432'),
  });
  expect(await settingsOf('rpc-1', generation)).toEqual({
    'docker-compose.yml pool-db': own('pool', '15433:5432'),
    [`node.config.toml ${state}`]: own('state', '172.30.77.11:15432'),
    'node.config.toml Pool.DB': own('pool', 'pool-db:5432'),
    'prover.config.json': own('prover', '172.30.77.11:15432'),
  });
});

test.each([
  ['current', 'State'],
  ['current', 'Pool'],
  ['older', 'StateDB'],
  ['older', 'Pool'],
] as const)('no override changes them, %s generation, section %s', (generation, section) => {
  for (const key of ['Host', 'Port', 'User', 'Password', 'Name']) {
    for (const written of [key, `+${key}`, `+${key.toLowerCase()}`]) {
      const table = section === 'StateDB' ? { [written]: 'other' } : { DB: { [written]: 'other' } };
      const faults = overrideFaults({ generation, node_config: { [section]: table }, prover_config: {} });
      expect(faults, written).toHaveLength(1);
      if (written === key) expect(faults[0]?.what).toMatch(/ comes from /);
    }
  }
  const [fault] = overrideFaults({
    generation,
    node_config: {},
    prover_config: { databaseURL: 'postgresql://h/d' },
  });
  expect(fault?.what).toBe('prover_config.databaseURL comes from credentials.prover');
});
