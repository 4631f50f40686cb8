import { readScript } from '../../engine/host/script.ts';
import { command } from '../../engine/host/step.ts';
import { drift, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { hbaAddress, hbaLines } from '../databases/hba.ts';
import { serverFile, tlsFolder } from '../databases/tls-files.ts';
import { databaseRole } from '../monitor/statistics-role.ts';
import { addressesOf } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';

const script = readScript(hbaLines, new URL('../../../templates/host/encryption.sh', import.meta.url));

/** The database server of a host refuses plain text from all other hosts of the inventory. */
export function encryptionIsDemanded(context: Context<Variables>): Resource {
  const others = context.hosts.filter(({ name }) => name !== context.host.name);
  return demanded('state-db refuses plain text from other hosts', context, others);
}

/**
 * After `tls` has left the inventory, plain text is let in again. A host that has no certificate
 * is not asked, unless its data are those of a backup.
 *
 * @param stillEncrypts before the container changes, when it may not run
 */
export function encryptionIsOptional(context: Context<Variables>, stillEncrypts: boolean): Resource {
  const when = stillEncrypts ? ', before it stops to encrypt' : '';
  const resource = demanded(`state-db lets plain text in${when}`, context, []);
  const isRecovered = context.given['to-time'] !== undefined && !stillEncrypts;
  return {
    ...resource,
    check: async (host) => {
      if (!isRecovered && !(await host.stat(serverFile))) return ok;
      const verdict = await resource.check(host);
      return stillEncrypts && verdict.is === 'unknown' ? ok : verdict;
    },
  };
}

/** After the server has stopped to encrypt, its key is gone. */
export function keyIsGone(): Resource {
  return {
    name: 'state-db has no certificate',
    check: async (host) => {
      const there = await host.stat(serverFile);
      return there ? drift('tls has left the inventory', [command`rm -rf ${tlsFolder}`]) : ok;
    },
  };
}

function demanded(name: string, { vars }: Context<Variables>, others: Context<Variables>['hosts']): Resource {
  const { user, database } = vars.credentials.state;
  const addresses = others.flatMap(addressesOf).map(hbaAddress);
  return databaseRole(name, script, ['encryption', user, database, ...new Set(addresses)]);
}
