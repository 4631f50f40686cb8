import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import configuration from '../../../roles/configuration.ts';
import type { Context } from '../../engine/resource/role.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { tokenizeSql } from '../../engine/template/sql.ts';
import { stateIndexes } from '../databases/indexes.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { archivesOf } from '../snapshot/snapshot.ts';
import { type Changes, labDeployment } from '../testing/lab-deployment.ts';
import { renderHost } from './render.ts';
import { batchConstraints } from './testdata/specification/batch-constraints.ts';
import { disagreements } from './testdata/specification/compare.ts';
import { composeFile } from './testdata/specification/compose-file.ts';
import { runs } from './testdata/specification/containers.ts';
import { defaultSizes, defaultVersions } from './testdata/specification/defaults.ts';
import { indexes } from './testdata/specification/indexes.ts';
import { initScript } from './testdata/specification/init-script.ts';
import { absent, nodeLimits, serverLimits } from './testdata/specification/limits.ts';
import { nodeConfig } from './testdata/specification/node-config.ts';
import { older } from './testdata/specification/older.ts';
import { olderNodeConfig } from './testdata/specification/older-node-config.ts';
import { olderProverConfig } from './testdata/specification/older-prover-config.ts';
import { filled, filledText, placeholdersOf } from './testdata/specification/placeholders.ts';
import { proverConfig } from './testdata/specification/prover-config.ts';
import { type FoundValues, readCompose, readJson, readToml } from './testdata/specification/read.ts';
import type { GenerationName, Row, Server } from './testdata/specification/row.ts';
import { type Database, serverOptions } from './testdata/specification/server-options.ts';
import {
  archiveNames,
  hostsFile,
  olderSnapshotRestore,
  snapshotRestore,
} from './testdata/specification/snapshot-restore.ts';

const currentNode = [...nodeConfig, ...batchConstraints];
const tables = {
  current: { node: currentNode, prover: proverConfig, restore: snapshotRestore },
  older: {
    node: older(currentNode, olderNodeConfig),
    prover: older(proverConfig, olderProverConfig),
    restore: older(snapshotRestore, olderSnapshotRestore),
  },
};

const hostOf = { database: 'db-1', rpc: 'rpc-2' } as const;

/** Each generation is rendered once, for all tests. */
const deployments = new Map<string, ReturnType<typeof renderGeneration>>();

async function renderGeneration(generation: GenerationName) {
  const changes: Changes = [...defaultSizes, ...defaultVersions, [['vars', 'generation'], generation]];
  const { hosts } = await loadDeployment(await labDeployment(changes));
  const on = async (server: Server) => {
    const host = hosts.find(({ name }) => name === hostOf[server]);
    if (!host) throw new Error(hostOf[server]);
    const context = { host, vars: host.vars, hosts };
    const { files, services } = await renderHost(context);
    return {
      context,
      services,
      files: new Map(files.map(({ name, content }) => [name as string, content.text])),
    };
  };
  return { database: await on('database'), rpc: await on('rpc') };
}

async function rendered(generation: GenerationName, server: Server) {
  const known = deployments.get(generation) ?? renderGeneration(generation);
  deployments.set(generation, known);
  const { context, files, services } = (await known)[server];
  const text = (name: string): string => files.get(name) ?? '';
  const hashes = Object.entries(services).map(([name, service]) => [
    `{config hash of ${name}}`,
    service?.configHash,
  ]);
  const placeholders = { ...placeholdersOf(generation, server), ...Object.fromEntries(hashes) };
  return { context, files, text, fill: (rows: readonly Row[]) => filled(rows, placeholders), placeholders };
}

const serverCommand = /^services\.(state|pool)-db\.command$/;

function withoutServerCommands(found: FoundValues): FoundValues {
  return new Map([...found].filter(([path]) => !serverCommand.test(path)));
}

/** Options of a database server in their order, without `-c`. */
function serverOptionsOf(compose: string, database: Database): string[][] {
  const { type, value } = readCompose(compose).get(`services.${database}.command`) ?? {
    type: 'missing',
    value: [],
  };
  // Compose refuses a bare number in a list of words.
  expect(type).toBe('string list');
  const [program, ...words] = value as string[];
  expect(program).toBe('postgres');
  const pairs = words.flatMap((word, i) => (i % 2 === 0 ? [[word, words[i + 1] ?? '']] : []));
  return pairs.map(([option = '', given = '']) => (option === '-c' ? given.split('=') : [option, given]));
}

const everywhere = (['current', 'older'] as const).flatMap((generation) =>
  (['database', 'rpc'] as const).map((server) => [generation, server] as const),
);

describe.each(everywhere)('%s generation, %s host', (generation, server) => {
  test('has exactly its files', async () => {
    const { files } = await rendered(generation, server);
    const databaseFiles = server === 'database' ? ['init_prover_db.sql', 'snapshot_restore.toml'] : [];
    expect([...files.keys()].sort()).toEqual(
      ['docker-compose.yml', 'node.config.toml', 'prover.config.json', ...databaseFiles].sort(),
    );
  });

  test('node.config.toml matches its table', async () => {
    const { text, fill } = await rendered(generation, server);
    expect(disagreements(fill(tables[generation].node), readToml(text('node.config.toml')))).toEqual([]);
  });

  test('prover.config.json matches its table', async () => {
    const { text, fill } = await rendered(generation, server);
    expect(disagreements(fill(tables[generation].prover), readJson(text('prover.config.json')))).toEqual([]);
  });

  test('docker-compose.yml matches its table', async () => {
    const { text, fill } = await rendered(generation, server);
    const found = withoutServerCommands(readCompose(text('docker-compose.yml')));
    expect(disagreements(fill(composeFile(server)), found)).toEqual([]);
  });

  const databases = (['state-db', 'pool-db'] as const).filter((database) => runs[server].includes(database));
  test.each(databases)('%s has its server options, -N before max_connections', async (database) => {
    const options = serverOptionsOf(
      (await rendered(generation, server)).text('docker-compose.yml'),
      database,
    );
    expect([...options].sort()).toEqual([...serverOptions[database]].sort());
    const names = options.map(([name]) => name);
    expect(names.indexOf('-N')).toBeLessThan(names.indexOf('max_connections'));
  });

  test('has the limits of its generation', async () => {
    const { text } = await rendered(generation, server);
    const found = readToml(text('node.config.toml'));
    const renamed = generation === 'older' ? olderNodeConfig.renamed : {};
    const wrong = nodeLimits.flatMap(([section, key, ...limits]) => {
      const wanted = limits[generation === 'current' ? 0 : 1];
      const is = found.get(`${renamed[section] ?? section}.${key}`)?.value ?? absent;
      return is === wanted ? [] : `${section}.${key} is ${is}, wanted ${wanted}`;
    });
    expect(wrong).toEqual([]);
    for (const [database, ...limits] of serverLimits.filter(([name]) => databases.includes(name))) {
      const options = new Map(
        serverOptionsOf(text('docker-compose.yml'), database).map(([k = '', v]) => [k, v]),
      );
      expect(options.get('max_connections')).toBe(String(limits[generation === 'current' ? 0 : 1]));
    }
  });
});

describe.each(['current', 'older'] as const)('%s generation', (generation) => {
  test('snapshot_restore.toml matches its table', async () => {
    const { text, fill } = await rendered(generation, 'database');
    expect(disagreements(fill(tables[generation].restore), readToml(text('snapshot_restore.toml')))).toEqual(
      [],
    );
  });

  test('the init script creates the prover database, step by step', async () => {
    const { text, placeholders } = await rendered(generation, 'database');
    const wanted = initScript.map((statement) => filledText(statement, placeholders));
    expect(statementsOf(text('init_prover_db.sql'))).toEqual(wanted);
  });

  test.each(['database', 'rpc'] as const)(
    'the hosts file of a %s host has state-db where it is needed, and no longer where it was',
    async (server) => {
      const { context } = await rendered(generation, server);
      const resources = await configuration.resources(context as Context<typeof context.vars>);
      const lines = resources.map(({ name }) => name).filter((name) => name.endsWith(' in /etc/hosts'));
      const title = `${hostsFile[generation] === undefined ? 'no ' : ''}line "${hostsFile.older}" in /etc/hosts`;
      expect(lines).toEqual(server === 'database' ? [title] : []);
    },
  );
});

/** The statements of a script, one per line, without comments and without quotes around names. */
function statementsOf(script: string): string[] {
  const text = tokenizeSql(script)
    .filter(({ kind }) => kind !== 'comment')
    .map(({ kind, value }) => (kind === 'literal' ? `'${value}'` : value))
    .join('')
    // A command of psql ends at the end of its line.
    .replace(/^(\\.*)$/gm, '$1;');
  const statements = text.split(';').map((statement) => statement.replace(/\s+/g, ' ').trim());
  return statements.filter((statement) => statement !== '');
}

test('the state database gets the additional indexes', async () => {
  // A database with all tables and no index.
  const host = fakeHost([], { sql: async () => ({ ok: true, rows: [['t', '', '']] }) });
  const target = { container: 'state-db', user: 'state_user', database: 'state_db' };
  const found = await Promise.all(
    stateIndexes(target)
      .filter(({ expects }) => expects === undefined)
      .map(async (resource) => [resource.name, await resource.check(host)]),
  );
  expect(found).toEqual(
    indexes.map(([index, table, columns]) => [
      `index ${index} on ${table}`,
      {
        is: 'drift',
        differences: [{ what: 'index', was: 'absent', wanted: `ON ${table} USING btree (${columns})` }],
      },
    ]),
  );
});

test.each(['main', 'test'] as const)('the archives of the %s network have their names', async (kind) => {
  const { vars } = (await rendered('current', 'database')).context;
  const archives = archivesOf({ ...vars, network: { ...vars.network, kind } });
  expect({ state: basename(archives.state.path), prover: basename(archives.prover.path) }).toEqual(
    archiveNames[kind],
  );
});
