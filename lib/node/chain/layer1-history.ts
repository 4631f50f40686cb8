import type { Reader } from '../../engine/host/host.ts';
import { shownAddress } from '../../engine/resource/network/http.ts';
import { drift, expectation, ok, type Resource, type Verdict } from '../../engine/resource/resource.ts';
import { stateDatabase } from '../databases/databases.ts';
import { unknownWithoutAnswer } from '../databases/postgres.ts';
import type { Variables } from '../variables/variables.ts';
import { newestBlockPair } from './newest-block.ts';

/** Ethereum finalizes a block after two epochs: the synchronizer can undo a reorganization of fewer blocks. Blocks. */
const finalityDepth = 64;

/**
 * The newest layer-1 block of the state database is one of layer 1. The synchronizer, given a layer 1 of another history, drops all
 * blocks of layer 1 from the state database, and then ends at every start. A reorganization of the last blocks is accepted.
 */
export function layer1HasOurBlocks(vars: Variables): Resource {
  return expectation('layer 1 has the newest layer-1 block of the state database', {
    check: (host) => compareHistory(host, vars),
    hint: 'sync must not run on this state database and this layer 1: it drops the blocks of layer 1 from state.block, and then ends at every start. Check network.l1_rpc_url in the inventory; if it is right, the database is of another chain: restore a snapshot of this one (snapshot.replace_existing)',
  });
}

async function compareHistory(host: Reader, vars: Variables): Promise<Verdict> {
  const target = stateDatabase(vars);
  const url = vars.network.l1_rpc_url;
  const ask = (atMost?: string) =>
    newestBlockPair(host, { target, table: 'state.block', ...(atMost && { atMost }) }, url);
  const [newest, container] = await Promise.all([ask(), host.container(target.container)]);
  if (!newest.ok) return unknownWithoutAnswer(target.container, container, newest.error);
  if (!newest.value) return ok;
  const { here, there } = newest.value;
  if (!there.ok) return drift(there.error);
  if (isSame(here.hash, there.value?.hash)) return ok;
  const older = await ask(`(select max(block_num) - ${finalityDepth} from state.block)`);
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
