import type { Reader } from '../../engine/host/host.ts';
import { type Fleet, readFleet } from '../gateway/fleet.ts';
import type { Variables } from '../variables/variables.ts';
import { type Finding, fault, note } from './judge.ts';

/** The state of a gateway: which RPC hosts may serve, or why HAProxy does not say. */
export async function readGateway(host: Reader, { gateway }: Pick<Variables, 'gateway'>) {
  const answer = await readFleet(host, gateway.metrics);
  return answer.ok
    ? { fleet: answer.value, findings: judgeFleet(answer.value) }
    : { fleet: undefined, findings: [fault('gateway-down', 'haproxy', answer.error)] };
}

/** An RPC host that is out is no fault of the gateway, unless no other serves. */
function judgeFleet({ hosts }: Fleet): Finding[] {
  const out = hosts.filter(({ serves }) => !serves);
  const reasons = out.map(({ host, reason }) =>
    note('out', host, `does not serve: ${reason ?? 'not asked yet'}`),
  );
  if (out.length < hosts.length) return reasons;
  return [fault('nobody-serves', 'gateway', 'no RPC host may serve'), ...reasons];
}
