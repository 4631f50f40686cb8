import { describeError } from '../../engine/output/describe-error.ts';
import { redact } from '../../engine/secret/secret.ts';
import type { Health } from '../../node/status/host.ts';
import type { ChainSeen, ContainerSeen, Expected, Seen } from '../../node/status/status.ts';
import type { ServiceName } from '../../node/variables/services.ts';
import type { Shown } from './lines.ts';
import { findingWords } from './words.ts';

/** Raised when a field changes its meaning or goes; a new field does not raise it. */
export const statusFormat = 1;

/** How all hosts together are: as the worst of them, and what is known to be wrong outweighs what is not known. */
export function worstOf(hosts: readonly { readonly health: Health }[]): Health {
  const has = (health: Health) => hosts.some((host) => host.health === health);
  return has('unhealthy') ? 'unhealthy' : has('unreachable') ? 'unreachable' : 'healthy';
}

/**
 * The whole status as one line of JSON (docs/status.md), in no field a secret.
 *
 * @param hosts in the order of the inventory
 * @param at milliseconds since 1970
 */
export function statusJson(inventory: string, hosts: readonly Shown[], at: number): string {
  const document = {
    format: statusFormat,
    time: new Date(at).toISOString(),
    inventory,
    health: worstOf(hosts),
    hosts: hosts.map(hostJson),
  };
  return JSON.stringify(document, (_, value) => (typeof value === 'string' ? redact(value) : value));
}

/** What is not known is left out, but for a container that is not there: null. */
function hostJson(status: Shown): object {
  const { host, groups, health, at, seconds, error, seen, standing, behind, findings, generation, expected, lastRun } =
    status;
  return {
    host,
    groups,
    health,
    time: new Date(at).toISOString(),
    seconds: Math.round(seconds * 1000) / 1000,
    ...(error === undefined ? {} : { error: describeError(error) }),
    findings: findings.map((finding) => ({ ...finding, says: findingWords(finding) })),
    generation,
    ...(seen && {
      docker: seen.docker,
      containers: containersJson(seen.containers, expected),
      chain: { ...chainJson(seen.chain), standing, behind },
      ...(seen.log && { log: seen.log }),
      disks: seen.disks.map((disk) => ({ ...disk, warnPercent: expected.diskWarnPercent })),
      clock: seen.clock,
    }),
    ...(lastRun && { lastRun }),
  };
}

function containersJson(containers: Seen['containers'], { services }: Expected): object {
  const known = Object.entries(containers) as [ServiceName, ContainerSeen | undefined][];
  return Object.fromEntries(
    known.map(([name, one]) => [
      name,
      one ? { ...one, since: isoTime(one.since), wantedImage: services[name]?.image } : null,
    ]),
  );
}

function chainJson({ from, own, trusted, comparison }: ChainSeen): object {
  const head = (answer: ChainSeen['own']) =>
    answer.ok
      ? {
          block: answer.value.block.number,
          hash: answer.value.block.hash,
          made: isoTime(answer.value.block.time),
          written: isoTime(answer.value.written),
          batch: answer.value.batch,
        }
      : { error: answer.error };
  return {
    from,
    own: head(own),
    trusted: head(trusted),
    ...(comparison && { comparison: comparison.ok ? comparisonJson(comparison.value) : { error: comparison.error } }),
  };
}

function comparisonJson({
  height,
  here,
  there,
  missingSince,
}: Extract<ChainSeen['comparison'], { ok: true }>['value']) {
  return { height, same: here === there, here, there, missingSince: isoTime(missingSince) };
}

/** @param at seconds since 1970 */
function isoTime(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at * 1000).toISOString();
}
