import { write } from '../../engine/host/step.ts';
import { Failure, type Problem } from '../../engine/problem/problem.ts';
import { sha256Of } from '../../engine/resource/file/content.ts';
import { withoutQuery } from '../../engine/resource/network/http.ts';
import type { Difference, Resource } from '../../engine/resource/resource.ts';
import { changesOfFile, drift, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { genesisPath } from '../render/render.ts';
import { generationOf } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';
import { genesisFaults } from './genesis.ts';

const attributes = { mode: 0o644, owner: 'root', group: 'root' } as const;
const shownFaults = 20;

/**
 * The genesis file where the node's containers mount it. It is put there only when it has the
 * SHA-256 of the inventory, and the fields of the generation and the network.
 *
 * @param downloaded path of the downloaded file on the host
 */
export function genesisFile(downloaded: string, vars: Variables): Resource {
  const path = genesisPath(vars);
  const { sha256 } = vars.network.genesis;
  const absent: Difference = { what: 'genesis file', was: 'absent', wanted: `SHA-256 ${sha256}` };
  return {
    name: `genesis file ${path} is checked and in place`,
    changes: changesOfFile(path),
    async check(host) {
      const [stat, content] = await Promise.all([host.stat(path), host.read(path)]);
      const isThere = stat !== undefined && content !== undefined;
      const differences = isThere ? differencesOf(stat.mode, sha256Of(content), sha256) : [absent];
      // The file of the inventory, but not one for this deployment: only another inventory helps.
      const fault = isThere && sha256Of(content) === sha256 ? faultsIn(content, vars) : undefined;
      if (fault) throw fault;
      if (differences.length === 0) return ok;
      const source = await host.read(downloaded);
      // The download is an earlier task. In check mode the file can still be that of another
      // inventory.
      if (!source || sha256Of(source) !== sha256) return unknownUntil(`${downloaded} is downloaded`);
      return drift(differences, faultsIn(source, vars) ?? [write(path, source, attributes)]);
    },
  };
}

function differencesOf(mode: number, found: string, wanted: string): Difference[] {
  const isRight = mode === attributes.mode;
  return [
    ...(found === wanted ? [] : [{ what: 'SHA-256', was: found, wanted }]),
    ...(isRight ? [] : [{ what: 'mode', was: `0${mode.toString(8)}`, wanted: '0644' }]),
  ];
}

/** Why a content is not the genesis file of the deployment. */
export function genesisProblem(content: Buffer, vars: Variables): Problem | undefined {
  const { sha256, url } = vars.network.genesis;
  const found = sha256Of(content);
  if (found === sha256) return faultsIn(content, vars);
  return new Failure(
    `the genesis file from ${withoutQuery(url)} is not the one of the inventory: SHA-256 ${found}, wanted ${sha256}`,
  );
}

function faultsIn(content: Buffer, vars: Variables): Problem | undefined {
  const { chain_id: chainId, genesis } = vars.network;
  const faults = genesisFaults(content.toString('utf8'), { ...generationOf(vars), chainId });
  if (faults.length === 0) return undefined;
  const more = faults.length > shownFaults ? [`and ${faults.length - shownFaults} more`] : [];
  const list = [...faults.slice(0, shownFaults), ...more].map((fault) => `  ${fault}`).join('\n');
  return new Failure(`the genesis file from ${withoutQuery(genesis.url)} is refused:\n${list}`, {
    hint: `the genesis file has to be for chain id ${chainId} and the ${vars.generation} generation of the node; see network.genesis in the inventory`,
  });
}
