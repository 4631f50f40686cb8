import { eventually } from '../lib/engine/resource/job/eventually.ts';
import { drift, ok, unknownUntil } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { drained, notDrained } from '../lib/node/gateway/drain.ts';
import { readFleet } from '../lib/node/gateway/fleet.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** After it is let in, the gateway sends it clients within a second, if it is well. */
const servesWithin = 30;

/** The RPC server of the option `host` gets no clients by this gateway, or, with `undo`, gets them again. */
export default role<Variables>('drained', ({ vars: { gateway }, given }) => {
  const name = String(given.host);
  if (given.undo === undefined)
    return [drained(`${name} is drained`, name, String(given.reason ?? 'by the operator'), gateway)];
  return [
    notDrained(`${name} is not drained`, name),
    eventually(
      `${name} serves`,
      async (at) => {
        const fleet = await readFleet(at, gateway.metrics);
        const found = fleet.ok ? fleet.value.hosts.find(({ host }) => host === name) : undefined;
        if (found?.drained) return unknownUntil(`${name} is not drained`);
        return found?.serves ? ok : drift(fleet.ok ? (found?.reason ?? 'the gateway does not know it') : fleet.error);
      },
      { seconds: servesWithin, hint: `see status: ${name} is not well, or a deploy has to bring it into the gateways` },
    ),
  ];
});
