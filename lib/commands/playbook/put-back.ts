import type { Session } from '../../engine/host/session.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import type { Playbook } from '../../engine/run/playbook.ts';

/** Connects to a host of the run. */
export type Open<V> = (host: InventoryHost<V>) => Promise<Session>;

/** A run that puts back hosts that a failed change has left out of service. */
export interface PutBack<V> {
  readonly playbook: Playbook<V>;
  readonly open: Open<V>;
  /**
   * Why a host cannot be put back, asked before the run.
   *
   * @returns undefined if it can.
   * @throws where the host does not answer
   */
  refusal(host: InventoryHost<V>): Promise<unknown>;
}

/**
 * The hosts that can be put back. The others stay out of service, and the operator reads why.
 *
 * @param out the hosts that were left out of service
 */
export async function withAWayBack<V>(
  back: Pick<PutBack<V>, 'refusal'>,
  out: readonly InventoryHost<V>[],
  say: (line: string) => void,
): Promise<readonly InventoryHost<V>[]> {
  const refusals = await Promise.all(out.map((host) => back.refusal(host).catch((error: unknown) => error)));
  for (const [at, refusal] of refusals.entries())
    if (refusal !== undefined)
      say(`gateway.rollback is auto, and ${out[at]?.name} stays out of service: ${describeError(refusal)}`);
  return out.filter((_, at) => refusals[at] === undefined);
}
