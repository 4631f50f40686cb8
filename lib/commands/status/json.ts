import { describeError } from '../../engine/output/describe-error.ts';
import { redact } from '../../engine/secret/secret.ts';
import { keysOf } from '../../engine/text/keys.ts';
import type { Answer } from '../../node/chain/chain.ts';
import type { Health } from '../../node/status/host.ts';
import type { HostState } from '../../node/status/read.ts';
import type { Shown } from './lines.ts';

/** Increased when a field changes its meaning or is removed; not for a new field. */
const format = 1;

/** Fields that hold a time, seconds since 1970. */
const times = new Set(['made', 'written', 'since', 'missingSince']);

/**
 * The health of all hosts together: that of the worst host. An unhealthy host is worse than an
 * unreachable one.
 */
export function worstOf(hosts: readonly { readonly health: Health }[]): Health {
  const has = (health: Health) => hosts.some((host) => host.health === health);
  const worst = (['unhealthy', 'unreachable'] as const).find(has);
  return worst ?? 'healthy';
}

/**
 * The whole status as one line of JSON (docs/status.md), without secrets.
 *
 * @param hosts in the order of the inventory
 * @param at milliseconds since 1970
 */
export function statusJson(inventory: string, hosts: readonly Shown[], at: number): string {
  const time = new Date(at).toISOString();
  const document = { format, time, inventory, health: worstOf(hosts), hosts: hosts.map(hostJson) };
  return JSON.stringify(document, (key, value) => {
    if (typeof value === 'number' && times.has(key)) return new Date(value * 1000).toISOString();
    return typeof value === 'string' ? redact(value) : value;
  });
}

/** Unknown fields are left out, except that a container that does not exist is null. */
function hostJson({
  state,
  expected,
  standing,
  behind,
  at,
  seconds,
  error,
  lastRun,
  replica,
  ...host
}: Shown): object {
  return {
    ...host,
    time: new Date(at).toISOString(),
    seconds: Math.round(seconds * 1000) / 1000,
    error: error === undefined ? undefined : describeError(error),
    ...(state && stateJson(state, expected, { standing, behind })),
    ...(replica && { replica: valueOrError(replica) }),
    lastRun,
  };
}

/** What was read of a host. */
function stateJson(
  state: HostState,
  { services, diskWarnPercent }: Shown['expected'],
  compared: Pick<Shown, 'standing' | 'behind'>,
): object {
  const containers = keysOf(state.containers).map((name) => {
    const container = state.containers[name];
    return [name, container ? { ...container, wantedImage: services[name]?.image } : null] as const;
  });
  return {
    docker: state.docker,
    containers: Object.fromEntries(containers),
    chain: {
      from: state.chain.from,
      own: valueOrError(state.chain.own),
      trusted: valueOrError(state.chain.trusted),
      comparison: state.chain.comparison && valueOrError(state.chain.comparison),
      ...compared,
    },
    log: state.log,
    disks: state.disks.map((disk) => ({ ...disk, warnPercent: diskWarnPercent })),
    clock: state.clock,
  };
}

function valueOrError<T>(answer: Answer<T>): T | { readonly error: string } {
  return answer.ok ? answer.value : { error: answer.error };
}
