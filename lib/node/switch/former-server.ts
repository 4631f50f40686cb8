import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { drift, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';
import { newServerIsClose } from './new-server.ts';
import { serverState } from './server-state.ts';

const script = readFileSync(new URL('../../../templates/host/retire.sh', import.meta.url), 'utf8');

/**
 * What a Database+Sync server runs beside state-db, and a replica does not, in the order in which
 * it is stopped.
 */
const besideStateDb = ['sync', 'prover', 'pool-db'];

/** The former server is the host of group replica whose data directory has no standby.signal. */
async function isFormer(host: Reader, vars: Variables): Promise<boolean> {
  return (await serverState(host, vars)).kind === 'primary';
}

/**
 * The other containers of the former server are removed. Nothing is stopped unless the new server
 * is close to it.
 */
export function formerServerEnds(context: Context<Variables>): Resource {
  return {
    name: 'sync, prover and pool-db of the former server are removed',
    check: async (host) => {
      const [isOfFormer, ...states] = await Promise.all([
        isFormer(host, context.vars),
        ...besideStateDb.map((name) => host.container(name)),
      ]);
      const left = besideStateDb.filter((_, at) => states[at]);
      if (!isOfFormer || left.length === 0) return ok;
      // One after the other: the synchronizer ends what it writes while its prover is there.
      const stops = left.map((name) => command({ timeoutSeconds: 300 })`docker stop --time 120 ${name}`);
      return drift(`${left.join(', ')} are there`, [...stops, command`docker rm ${left}`]);
    },
    everyHost: newServerIsClose(context, 'this run stopped nothing'),
  };
}

/** The data directory of the former server gets the signal of a standby, after a clean end. */
export function formerServerIsReplica(context: Context<Variables>): Resource {
  const { vars } = context;
  return {
    name: 'the former server is a replica',
    check: async (host) =>
      (await isFormer(host, vars))
        ? drift('its state-db may accept writes', [
            command({ timeoutSeconds: 400 })`sh -c ${script} retire ${dataFolder(vars, 'state-db')}`,
          ])
        : ok,
    everyHost: newServerIsClose(
      context,
      'state-db of the former server still accepts writes. This run or an earlier one removed its synchronizer: run again, or deploy with the inventory of before',
    ),
  };
}
