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

const rewinds = `from state.trusted_reorg where starts_with(reason, ${sqlLiteral(recordStart)})`;

/**
 * When the state database that a host uses was rewound the last time.
 *
 * @returns seconds since 1970 by the clock of the host, which may differ from that of the state
 * database; undefined for never
 */
export async function rewoundAt(
  host: Reader,
  { host: own, hosts, vars }: Pick<Context<Variables>, 'host' | 'hosts' | 'vars'>,
): Promise<Answer<number | undefined>> {
  const server = stateHost(hosts, own);
  const { container } = stateDatabase(vars);
  if (server.name === own.name) {
    const answer = await host.sql(
      stateDatabase(vars),
      `select extract(epoch from max(timestamp)) ${rewinds}`,
    );
    if (!answer.ok) return { ok: false, error: `${container}: ${answer.error}` };
    const time = answer.rows[0]?.[0];
    return { ok: true, value: time ? Number(time) : undefined };
  }
  const { user, database, password } = vars.credentials.state;
  const age = `select extract(epoch from now() - max(timestamp)) ${rewinds}`;
  const words = [server.connection.address, server.vars.ports.state_db, user, database, age];
  const [clock, output] = await Promise.all([
    host.$`date +%s.%N`,
    host.$({ stdin: new Secret(`${password.reveal()}\n`), timeoutSeconds: 20 })`
      sh -c ${script} ask-state ${words}`,
  ]);
  if (output.ok)
    return {
      ok: true,
      value: output.text() === '' ? undefined : Number(clock.text()) - Number(output.text()),
    };
  return {
    ok: false,
    error: `${container} of ${server.name}: ${output.stderr.trim().split('\n').at(-1) || 'no answer'}`,
  };
}
