import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { Secret } from '../../engine/secret/secret.ts';
import type { Value, Values } from '../../engine/template/template.ts';
import { databaseHost } from '../variables/database-host.ts';
import { generationOf } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';
import type { RenderContext } from './render.ts';

/** The host that a value is for. */
interface Scope {
  readonly vars: Variables;
  readonly database: InventoryHost<Variables>;
  readonly isDatabase: boolean;
}

interface ValueSource {
  /** What an operator edits to change it. */
  readonly from: string;
  of(scope: Scope): Value;
}

/** PostgreSQL's own port, inside its container. */
const postgresPort = 5432;

/** The state database is a name of the container network on its own host, and the host's address and published port elsewhere. */
const stateHost = ({ isDatabase, database: { connection } }: Scope): string =>
  isDatabase ? 'state-db' : inUrl(connection.address);
const statePort = ({ isDatabase, database }: Scope): number =>
  isDatabase ? postgresPort : database.vars.ports.state_db;

/** The programs put the host into a URL as it is: an IPv6 address needs its brackets. */
function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}

function proverUrl(scope: Scope): Secret {
  const { user, password, database } = scope.vars.credentials.prover;
  return new Secret(`postgresql://${user}:${password.reveal()}@${stateHost(scope)}:${statePort(scope)}/${database}`);
}

/** On the container network. */
const poolService = 'the service pool-db in docker-compose.yml';

/** The values that are not a variable as it is. */
const computed: Readonly<Record<string, ValueSource>> = {
  node_host: { from: 'the group that the host is in', of: ({ isDatabase }) => (isDatabase ? 'sync' : 'json-rpc') },
  prover_config_path: { from: 'the generation', of: ({ vars }) => generationOf(vars).proverConfig },
  state_db_host: { from: 'address of the Database+Sync server', of: stateHost },
  state_db_host_port: { from: 'ports.state_db', of: statePort },
  pool_db_host: { from: poolService, of: () => 'pool-db' },
  pool_db_port_inside: { from: poolService, of: () => postgresPort },
  prover_database_url: { from: 'credentials.prover', of: proverUrl },
};

/** What an operator edits to change the value of a name: the variable of that path, unless it is computed. */
export function sourceOf(name: string): string {
  return computed[name]?.from ?? name;
}

/** The values for one host's templates: its variables by their paths, such as `ports.state_db`, and the computed ones. */
export function valuesFor({ host, vars, hosts }: RenderContext): Values {
  const database = databaseHost(hosts);
  const scope: Scope = { vars, database, isDatabase: host.name === database.name };
  // Overrides have their values in the rendered configuration.
  const { node_config, prover_config, ...plain } = vars;
  const others = Object.entries(computed).map(([name, source]) => [name, source.of(scope)]);
  return { ...valuesByPath(plain), ...Object.fromEntries(others) };
}

/** Every text, number and secret in a tree, by its path: `{ a: { b: 1 } }` becomes `{ 'a.b': 1 }`. */
export function valuesByPath(tree: unknown, above: readonly string[] = []): Values {
  if (typeof tree === 'string' || typeof tree === 'number' || tree instanceof Secret)
    return { [above.join('.')]: tree };
  if (typeof tree !== 'object' || tree === null) return {};
  return Object.assign({}, ...Object.entries(tree).map(([key, value]) => valuesByPath(value, [...above, key])));
}
