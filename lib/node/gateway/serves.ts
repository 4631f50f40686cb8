import { eventually } from '../../engine/resource/job/eventually.ts';
import { drift, ok, unknownUntil, type Work } from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';
import { readFleet } from './fleet.ts';

/** After it is let in, the gateway sends it clients within a second, if it is well. */
const servesWithin = 30;

/**
 * A gateway sends clients to an RPC server.
 *
 * @param name of the server
 */
export function serves(name: string, { metrics }: Pick<Variables['gateway'], 'metrics'>): Work {
  return eventually(
    `${name} serves`,
    async (at) => {
      const fleet = await readFleet(at, metrics);
      const found = fleet.ok ? fleet.value.hosts.find(({ host }) => host === name) : undefined;
      if (found?.drained) return unknownUntil(`${name} is not drained`);
      return found?.serves
        ? ok
        : drift(fleet.ok ? (found?.reason ?? 'the gateway does not know it') : fleet.error);
    },
    {
      seconds: servesWithin,
      hint: `see status: ${name} is not well, or a deploy has to bring it into the gateways`,
    },
  );
}
