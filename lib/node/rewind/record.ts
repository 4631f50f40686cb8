import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import type { Context } from '../../engine/resource/role.ts';
import { Secret } from '../../engine/secret/secret.ts';
import type { Answer } from '../chain/chain.ts';
import { stateDatabase } from '../databases/databases.ts';
import { sqlLiteral } from '../databases/postgres.ts';
import { product } from '../server/product.ts';
import { stateHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

const script = readFileSync(new URL('../../../templates/host/ask-state.sh', import.meta.url), 'utf8');

/** How the reason of a rewind begins in state.trusted_reorg, where the node notes its own. */
export const recordStart = `${product}: rewound`;

const query = `select extract(epoch from max(timestamp)) from state.trusted_reorg where starts_with(reason, ${sqlLiteral(recordStart)})`;

/**
 * When the state database that a host uses was rewound the last time.
 *
 * @returns seconds since 1970; undefined for never
 */
export async function rewoundAt(
  host: Reader,
  { host: own, hosts, vars }: Pick<Context<Variables>, 'host' | 'hosts' | 'vars'>,
): Promise<Answer<number | undefined>> {
  const server = stateHost(hosts, own);
  const { container } = stateDatabase(vars);
  if (server.name === own.name) {
    const answer = await host.sql(stateDatabase(vars), query);
    return answer.ok
      ? timeIn(answer.rows[0]?.[0] ?? '')
      : { ok: false, error: `${container}: ${answer.error}` };
  }
  const { user, database, password } = vars.credentials.state;
  const words = [server.connection.address, server.vars.ports.state_db, user, database, query];
  const output = await host.$({ stdin: new Secret(`${password.reveal()}\n`), timeoutSeconds: 20 })`
    sh -c ${script} ask-state ${words}`;
  if (output.ok) return timeIn(output.text());
  return {
    ok: false,
    error: `${container} of ${server.name}: ${output.stderr.trim().split('\n').at(-1) || 'no answer'}`,
  };
}

function timeIn(text: string): Answer<number | undefined> {
  return { ok: true, value: text === '' ? undefined : Number(text) };
}
