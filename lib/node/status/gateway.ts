import type { Reader } from '../../engine/host/host.ts';
import { type Fleet, readFleet } from '../gateway/fleet.ts';
import type { Variables } from '../variables/variables.ts';
import type { Finding } from './judge.ts';

/** The state of a gateway: which RPC hosts may serve, or why HAProxy does not say. */
export async function readGateway(host: Reader, { gateway }: Pick<Variables, 'gateway'>) {
  const answer = await readFleet(host, gateway.metrics);
  return answer.ok
    ? { fleet: answer.value, findings: judgeFleet(answer.value) }
    : { fleet: undefined, findings: [finding('gateway-down', 'haproxy', true, answer.error)] };
}

/** An RPC host that is out is no fault of the gateway, unless no other serves. */
function judgeFleet({ hosts }: Fleet): Finding[] {
  const out = hosts.filter(({ serves }) => !serves);
  const reasons = out.map(({ host, reason }) =>
    finding('out', host, false, `does not serve: ${reason ?? 'not asked yet'}`),
  );
  if (out.length < hosts.length) return reasons;
  return [finding('nobody-serves', 'gateway', true, 'no RPC host may serve'), ...reasons];
}

function finding(is: string, about: string, fault: boolean, words: string): Finding {
  return { is, about, fault, says: `${about}: ${words}` };
}
