import type { Reader } from '../../engine/host/host.ts';
import { shownAddress } from '../../engine/resource/network/http.ts';
import { drift, expectation, ok, type Resource, type Verdict } from '../../engine/resource/resource.ts';
import { stateDatabase } from '../databases/databases.ts';
import { unknownWithoutAnswer } from '../databases/postgres.ts';
import type { Variables } from '../variables/variables.ts';
import { type BlockPair, newestBlockPair } from './newest-block.ts';

/**
 * Ethereum finalizes a block after two epochs: the synchronizer can undo a reorganization of up to
 * this many blocks.
 */
export const finalityDepth = 64;

/**
 * The newest layer-1 block of the state database is one of layer 1. The synchronizer, given a
 * layer 1 of another history, drops all blocks of layer 1 from the state database, and then ends
 * at every start. A reorganization of the last blocks is accepted.
 */
export function layer1HasOurBlocks(vars: Variables): Resource {
  return expectation('layer 1 has the newest layer-1 block of the state database', {
    check: (host) => compareHistory(host, vars),
    hint: 'sync must not run on this state database and this layer 1: it drops the blocks of layer 1 from state.block, and then ends at every start. Check network.l1_rpc_url in the inventory; if it is right, the database is of another chain: restore a snapshot of this one (snapshot.replace_existing)',
  });
}

/**
 * The same, before anything is stopped, as far as it can be known then: a database that does not
 * run, or has no block yet, is compared in its turn. One that this run replaces is not.
 *
 * @param isReplaced whether the run may put other data in place of the database
 */
export function historiesAgree(vars: Variables, isReplaced: boolean): Resource[] {
  const { name, hint = '' } = layer1HasOurBlocks(vars);
  const check = async (host: Reader) => {
    const [newest] = await readNewest(host, vars);
    return newest.ok && newest.value?.there.ok ? judgePair(host, vars, newest.value) : ok;
  };
  return isReplaced ? [] : [expectation(name, { check, hint })];
}

/**
 * @param condition in SQL
 */
function blockOfLayer1(condition: string): string {
  return `select block_hash, block_num from state.block where ${condition} order by block_num desc limit 1`;
}

function readNewest(host: Reader, vars: Variables) {
  const target = stateDatabase(vars);
  return Promise.all([
    newestBlockPair(host, { target, query: blockOfLayer1('true') }, vars.network.l1_rpc_url),
    host.container(target.container),
  ]);
}

async function compareHistory(host: Reader, vars: Variables): Promise<Verdict> {
  const [newest, container] = await readNewest(host, vars);
  if (!newest.ok) return unknownWithoutAnswer(stateDatabase(vars).container, container, newest.error);
  return newest.value ? judgePair(host, vars, newest.value) : ok;
}

async function judgePair(host: Reader, vars: Variables, { here, there }: BlockPair): Promise<Verdict> {
  if (!there.ok) return drift(there.error);
  if (isSame(here.hash, there.value?.hash)) return ok;
  const url = vars.network.l1_rpc_url;
  const query = blockOfLayer1(`block_num <= (select max(block_num) - ${finalityDepth} from state.block)`);
  const older = await newestBlockPair(host, { target: stateDatabase(vars), query }, url);
  const pair = older.ok ? older.value : undefined;
  if (pair?.there.ok && isSame(pair.here.hash, pair.there.value?.hash)) return ok;
  return drift(
    there.value
      ? `layer 1 has another history: block ${here.block} is ${here.hash} in the state database and ${there.value.hash} on ${shownAddress(url)}`
      : `${shownAddress(url)} has no block ${here.block}, and the state database has (${here.hash})`,
  );
}

function isSame(here: string, there: string | undefined): boolean {
  return here.toLowerCase() === there?.toLowerCase();
}
