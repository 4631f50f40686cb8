import type { Reader } from '../../engine/host/host.ts';
import { shownAddress } from '../../engine/resource/network/http.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import { stateDatabase } from '../databases/databases.ts';
import { unknownWithoutAnswer } from '../databases/postgres.ts';
import { choosesLayer1, layer1Key, layer1Url, layer1Urls } from '../variables/layer1.ts';
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
    hint: `sync must not run on this state database and this layer 1: it drops the blocks of layer 1 from state.block, and then ends at every start. Check network.${layer1Key(vars)} in the inventory; if that address is right, the database is of another chain: restore a snapshot of your network (snapshot.replace_existing)`,
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
  const checkOne = async (host: Reader, url: string) => {
    const [newest] = await readNewest(host, vars, url);
    return newest.ok && newest.value?.there.ok ? judgePair(host, vars, newest.value, url) : ok;
  };
  // HAProxy may not run yet: each provider itself is asked.
  const check = async (host: Reader) => {
    const verdicts = await Promise.all(layer1Urls(vars).map((url) => checkOne(host, url)));
    return verdicts.find(({ is }) => is !== 'ok') ?? ok;
  };
  return isReplaced ? [] : [expectation(name, { check, hint })];
}

/**
 * @param condition in SQL
 */
function blockOfLayer1(condition: string): string {
  return `select block_hash, block_num from state.block where ${condition} order by block_num desc limit 1`;
}

function readNewest(host: Reader, vars: Variables, url: string) {
  const target = stateDatabase(vars);
  return Promise.all([
    newestBlockPair(host, { target, query: blockOfLayer1('true') }, url),
    host.container(target.container),
  ]);
}

async function compareHistory(host: Reader, vars: Variables): Promise<Verdict> {
  const url = layer1Url(vars);
  const [newest, container] = await readNewest(host, vars, url);
  if (!newest.ok) return unknownWithoutAnswer(stateDatabase(vars).container, container, newest.error);
  return newest.value ? judgePair(host, vars, newest.value, url) : ok;
}

async function judgePair(
  host: Reader,
  vars: Variables,
  { here, there }: BlockPair,
  url: string,
): Promise<Verdict> {
  if (!there.ok)
    return choosesLayer1(vars) ? unknownUntil('a provider of layer 1 is chosen') : drift(there.error);
  if (isSame(here.hash, there.value?.hash)) return ok;
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
