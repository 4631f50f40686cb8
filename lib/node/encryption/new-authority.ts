import { expectation, ok, type Resource, refused } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import type { Variables } from '../variables/variables.ts';
import { readServerCertificate } from './certificate.ts';
import { isOfAnother } from './fitness.ts';

/** The groups of hosts that verify a database server. */
const ofClients = ['rpc', 'replica', 'backup'];

/**
 * A database server gets no certificate of another authority in a run that leaves out clients: they
 * could not verify it. A run with all of them asks nothing, and a rollback keeps the certificate.
 *
 * @param name of the resource
 */
export function clientsLearnNewAuthority(context: Context<Variables>, name: string): Resource[] {
  const { tls } = context.vars;
  const missing = clientsWithout(context);
  if (!tls || context.release || missing.length === 0) return [];
  const names = missing.join(', ');
  const resource = expectation(name, {
    check: async (host) => {
      if (!isOfAnother(await readServerCertificate(host), tls.certificate)) return ok;
      return refused(
        `state-db would get a certificate of another authority, and this run leaves out ${names}`,
        'deploy to all hosts and roles: without --limit, --role and --skip-role (docs/encryption.md, "Replace the authority")',
      );
    },
  });
  return [resource];
}

/**
 * The clients to which a run does not bring the authorities. After a recovery, a deploy brings them
 * to all but the backup host before they connect.
 */
function clientsWithout({ host, hosts, includes, given }: Context<Variables>): string[] {
  const wanted = given['to-time'] === undefined ? ofClients : ['backup'];
  return hosts.flatMap(({ name, groups }) => {
    const isClient = name !== host.name && groups.some((group) => wanted.includes(group));
    return isClient && !includes(name, 'certificate-authority') ? name : [];
  });
}
