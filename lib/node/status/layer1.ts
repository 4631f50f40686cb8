import type { Reader } from '../../engine/host/host.ts';
import { type Layer1Choice, readLayer1 } from '../layer1/answer.ts';
import { layer1Unit } from '../server/layer1-unit.ts';
import { choosesLayer1 } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';
import { type Finding, fault, note } from './judge.ts';

/** What is known of the providers of layer 1 on a Database+Sync server with several. */
interface Layer1Status {
  /** undefined where HAProxy does not say it. */
  readonly layer1: Layer1Choice | undefined;
  readonly findings: readonly Finding[];
}

/**
 * Which provider of layer 1 the node uses, and why others are out.
 *
 * @returns undefined with one address of layer 1: nothing is asked then
 */
export async function readLayer1Status(host: Reader, vars: Variables): Promise<Layer1Status | undefined> {
  if (!choosesLayer1(vars)) return undefined;
  const answer = await readLayer1(host, vars);
  return answer.ok
    ? { layer1: answer.value, findings: judgeProviders(answer.value) }
    : { layer1: undefined, findings: [fault('layer1-down', layer1Unit, answer.error)] };
}

/** One that is out is no fault of the host, unless the node has no other. */
function judgeProviders({ providers }: Layer1Choice): Finding[] {
  const reasons = providers
    .filter(({ reason }) => reason !== null)
    .map(({ provider, reason }) => note('layer1-out', provider, `is out: ${reason}`));
  if (providers.some(({ used }) => used)) return reasons;
  return [fault('layer1-away', 'layer 1', 'no provider can be used'), ...reasons];
}
