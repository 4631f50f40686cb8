import type { GenerationName, Row, Server } from './row.ts';
import { versions } from './versions.ts';

export type Placeholders = Readonly<Record<string, string>>;

/**
 * Values of the specification's placeholders on the lab with `defaultSizes` and `defaultVersions`.
 */
export function placeholdersOf(generation: GenerationName, server: Server): Placeholders {
  const { node, prover, nodeBinary } = versions[generation];
  return {
    '{trusted_sequencer_url}': 'http://172.30.77.10:8545',
    '{l1_rpc_url}': 'http://172.30.77.10:8546',
    '<STATE_DB_USER>': 'state_user',
    '<STATE_DB_PASSWORD>': 'state.Pw~1',
    '<STATE_DB_NAME>': 'state_db',
    '<POOL_DB_USER>': 'pool_user',
    '<POOL_DB_PASSWORD>': 'pool.Pw~2',
    '<POOL_DB_NAME>': 'pool_db',
    '<PROVER_DB_USER>': 'prover_user',
    '<PROVER_DB_PASSWORD>': 'prover.Pw~3',
    '<PROVER_DB_NAME>': 'prover_db',
    // Names of containers do not resolve on another host.
    '{host name of state-db}': server === 'database' ? 'state-db' : '172.30.77.11',
    '{host name of pool-db}': 'pool-db',
    '{host name of the node}': server === 'database' ? 'sync' : 'json-rpc',
    '<prover host>': 'prover',
    '{database host for the restore tool}': generation === 'older' ? 'state-db' : '127.0.0.1',
    '{config directory}': '/usr/src/app/config',
    '<config path>': '/usr/src/app/config.json',
    '<node binary>': nodeBinary,
    '{node image}': `registry.example/node:${node}`,
    '{prover image}': `registry.example/prover:${prover}`,
    '{deployment name}': 'rpc-node',
    '{deployment}': '/opt/rpc-node',
    '{data}': '/data',
  };
}

/**
 * The text with its placeholders filled in.
 *
 * @throws Error for one without a value
 */
export function filledText(text: string, placeholders: Placeholders): string {
  return text.replace(/\{[\w -]+\}|<[\w -]+>/g, (name) => {
    const value = placeholders[name];
    if (value === undefined) throw new Error(`${name} has no value`);
    return value;
  });
}

/** The rows with the placeholders of their values filled in. */
export function filled(rows: readonly Row[], placeholders: Placeholders): readonly Row[] {
  const fill = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(fill);
    return typeof value === 'string' ? filledText(value, placeholders) : value;
  };
  return rows.map(([section, key, type, value]) => [section, key, type, fill(value)]);
}
