import { readFileSync } from 'node:fs';
import type { CommandOptions } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { checkedAgainAfter, drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import { product } from '../server/product.ts';
import type { Variables } from '../variables/variables.ts';

const script = readFileSync(new URL('../../../templates/host/statistics-role.sh', import.meta.url), 'utf8');

/** The role of postgres_exporter in the state database. */
export const statisticsRole = 'rpc_node_statistics';
/** Its password. It is made on the host, and never leaves it. */
export const statisticsPassword = `/etc/${product}/statistics-password`;

/**
 * The state database has a role that may log in and read statistics, and nothing else. Its
 * password is in a file on the host; the check logs in with it through the published port.
 */
export function statisticsRoleIsThere({ credentials, ports }: Variables): Resource {
  const { user, database } = credentials.state;
  const words = ['statistics-role', statisticsRole, statisticsPassword, user, database, ports.state_db];
  return databaseRole(`database role ${statisticsRole} reads statistics alone`, script, words);
}

/**
 * A role of the state database that a script makes and checks by a login.
 *
 * @param words the name of the script, and its arguments after `check` or `apply`
 */
export function databaseRole(
  name: string,
  script: string,
  [title = '', ...words]: readonly (string | number)[],
  input: Pick<CommandOptions, 'stdin'> = {},
): Resource {
  const resource: Resource = {
    name,
    async check(host) {
      const [container, answer] = await Promise.all([
        host.container('state-db'),
        host.$({ timeoutSeconds: 20, ...input })`sh -c ${script} ${title} check ${words}`,
      ]);
      if (!container?.running) return unknownUntil('state-db is running');
      const make = command(input)`sh -c ${script} ${title} apply ${words}`;
      return answer.ok ? ok : drift(answer.stderr.trim().split('\n').at(-1) || 'it cannot log in', [make]);
    },
  };
  return checkedAgainAfter(resource, 'state-db');
}
