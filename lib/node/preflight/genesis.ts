import type { Reader } from '../../engine/host/host.ts';
import { shownAddress } from '../../engine/resource/network/http.ts';
import { drift, expectation, ok, type Resource, refused, warning } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { genesisProblem } from '../chain/genesis-file.ts';
import { jsonRpc } from '../chain/json-rpc.ts';
import { askDownload } from '../chain/reachable.ts';
import { genesisPath } from '../render/render.ts';
import { generationOf } from '../variables/generation.ts';
import { choosesLayer1, layer1Key, layer1Urls } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';
import { goal } from './known.ts';

/** A larger genesis file is looked at in its turn. Bytes. */
const longestGenesis = 16 * 1024 * 1024;

/** The goal of what is needed before the genesis file is in place. */
export const genesisIsThere = (vars: Variables) =>
  goal(async (reader) => (await reader.sha256(genesisPath(vars))) === vars.network.genesis.sha256);

/**
 * Its content is looked at, too: one that is refused would be known only when the containers of
 * another version are stopped.
 */
export function genesisCanBeDownloaded(vars: Variables): Resource {
  const hint = 'check network.genesis.url in the inventory';
  return skipWhen(
    genesisIsThere(vars),
    expectation('genesis file can be downloaded', {
      check: async (reader) => {
        const answer = await askDownload(reader, vars.network.genesis.url, longestGenesis);
        if (!answer.ok) return drift(answer.error);
        // A host without curl and wget tries the connection only.
        if (answer.value === undefined || answer.value.length >= longestGenesis) return ok;
        const problem = genesisProblem(answer.value, vars);
        return problem ? refused(problem.message, problem.hint || `${hint}, and its sha256`) : ok;
      },
      hint,
    }),
  );
}

/**
 * Layer 1 has the contract of the rollup: each component of the node calls it at its start, and ends
 * without it (v3.1.0, `etherman.NewClient`). A layer 1 that is still synchronising answers with the
 * id of its chain, gives logs, and has no contract. Where the genesis file is in place, the node has
 * started with it.
 */
export function layer1HasContract({ host, vars }: Context<Variables>): Resource[] {
  // Of several addresses the Database+Sync server asks each.
  if (choosesLayer1(vars) && !host.groups.includes('database')) return [];
  const contract = expectation('layer 1 has the contract of the genesis file', {
    check: (reader) => askForContract(reader, vars),
  });
  return [skipWhen(genesisIsThere(vars), contract)];
}

/** What does not answer, or has no answer to this question, is not judged here. */
async function askForContract(reader: Reader, vars: Variables) {
  const genesis = await askDownload(reader, vars.network.genesis.url, longestGenesis);
  if (!genesis.ok || !genesis.value || genesisProblem(genesis.value, vars)) return ok;
  const [key = ''] = generationOf(vars).genesisContracts;
  const address = fieldsOf(fieldsOf(parseJson(genesis.value.toString())).l1Config)[key];
  const urls = layer1Urls(vars);
  const answers = await Promise.all(
    urls.map((url) => jsonRpc(reader, url, 'eth_getCode', [address, 'latest'])),
  );
  const without = urls.filter((_, at) => {
    const answer = answers[at];
    return answer?.ok && answer.result === '0x';
  });
  if (without.length === 0) return ok;
  const what = `${without.map(shownAddress).join(', ')} has no contract at ${address}, the ${key} of the genesis file`;
  if (without.length < urls.length) return warning(`${what}; the node uses the others`);
  return refused(
    what,
    `a layer 1 that is still synchronising has to be synchronised first; else network.${layer1Key(vars)} and network.genesis are of different networks`,
  );
}
