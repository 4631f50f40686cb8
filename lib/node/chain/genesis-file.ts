import type { Reader } from '../../engine/host/host.ts';
import { write } from '../../engine/host/step.ts';
import { Failure, type Problem } from '../../engine/problem/problem.ts';
import { sha256Of } from '../../engine/resource/file/content.ts';
import { withoutQuery } from '../../engine/resource/network/http.ts';
import type { Change, Difference, Resource, Verdict } from '../../engine/resource/resource.ts';
import { changesOfFile, drift, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { genesisPath } from '../render/render.ts';
import { generationOf } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';
import { genesisFaults } from './genesis.ts';

const attributes = { mode: 0o644, owner: 'root', group: 'root' } as const;
const shownFaults = 20;

/**
 * The genesis file where the node's containers mount it. It is put there only when it has the SHA-256 of the inventory, and the fields
 * of the generation and the network.
 *
 * @param downloaded path of the downloaded file on the host
 */
export function genesisFile(downloaded: string, vars: Variables): Resource {
  const path = genesisPath(vars);
  const wanted = { ...generationOf(vars), chainId: vars.network.chain_id };
  const { sha256, url } = vars.network.genesis;
  const faultsIn = (content: Buffer): Problem | undefined => {
    const faults = genesisFaults(content.toString('utf8'), wanted);
    if (faults.length === 0) return undefined;
    const more = faults.length > shownFaults ? [`and ${faults.length - shownFaults} more`] : [];
    return new Failure(
      `the genesis file from ${withoutQuery(url)} is refused:\n${[...faults.slice(0, shownFaults), ...more].map((fault) => `  ${fault}`).join('\n')}`,
      {
        hint: `it has to be for chain id ${wanted.chainId} and the ${vars.generation} generation of the node; see network.genesis in the inventory`,
      },
    );
  };
  /** The step for the downloaded file, or why it is not put in place. */
  const copy = (content: Buffer): Change => {
    const found = sha256Of(content);
    if (found !== sha256) {
      return new Failure(
        `the genesis file from ${withoutQuery(url)} is not the one of the inventory: SHA-256 ${found}, wanted ${sha256}`,
      );
    }
    const fault = faultsIn(content);
    return fault ?? [write(path, content, attributes)];
  };
  const replaced = async (host: Reader, differences: readonly Difference[], isThere: boolean): Promise<Verdict> => {
    const content = await host.read(downloaded);
    if (content) return drift(differences, copy(content));
    // A first deploy downloads it before.
    if (!isThere) return unknownUntil(`${downloaded} is downloaded`);
    return drift(differences, new Failure(`${downloaded} does not exist`));
  };
  return {
    name: `genesis file ${path} is checked and in place`,
    changes: changesOfFile(path),
    async check(host) {
      const [stat, content] = await Promise.all([host.stat(path), host.read(path)]);
      if (!stat || !content)
        return replaced(host, [{ what: 'genesis file', was: 'absent', wanted: `SHA-256 ${sha256}` }], false);
      const differences: Difference[] = [];
      const found = sha256Of(content);
      if (found !== sha256) differences.push({ what: 'SHA-256', was: found, wanted: sha256 });
      if (stat.mode !== attributes.mode)
        differences.push({ what: 'mode', was: `0${stat.mode.toString(8)}`, wanted: '0644' });
      // The file of the inventory, but not one for this deployment: only another inventory helps.
      const fault = found === sha256 ? faultsIn(content) : undefined;
      if (fault) throw fault;
      return differences.length === 0 ? ok : replaced(host, differences, true);
    },
  };
}
