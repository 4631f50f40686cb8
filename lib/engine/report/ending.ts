import { exitCode } from '../problem/problem.ts';
import type { HostSummary } from '../run/events.ts';
import { exitCodeOf } from '../run/run-options.ts';
import { eventOf, type Recorded, type RecordedEvent } from './recorded-event.ts';

/** The end of a run, in a few words with hosts and numbers. `open`: no end is recorded. */
export interface Ending {
  readonly kind: 'converged' | 'pending' | 'failed' | 'unreachable' | 'interrupted' | 'open';
  readonly text: string;
}

/** Names before the rest is only counted. */
const named = 4;

/** The end of a run, by the same rules as its exit code. */
export function endingOf(events: readonly RecordedEvent[]): Ending {
  const finished = eventOf(events, 'run-finished');
  const error = eventOf(events, 'run-failed')?.error;
  if (error !== undefined) return { kind: 'failed', text: `failed: ${error.split('\n')[0]}` };
  if (!finished) return { kind: 'open', text: 'no end is recorded: the run was killed, or is still running' };
  const { hosts, interrupted, declined } = finished;
  if (declined) return { kind: 'pending', text: 'stopped by an answer of the operator' };
  const unreachable = hosts.filter((host) => host.unreachable);
  const failed = hosts.filter((host) => !host.unreachable && (count([host], 'failed') > 0 || host.stopped));
  const pending = ['pending', 'unknown', 'skipped'].map((outcome) => ({
    outcome,
    found: count(hosts, outcome),
  }));
  const text = [
    list('failed', failed),
    list('unreachable', unreachable),
    pending.flatMap(({ outcome, found }) => (found > 0 ? `${found} ${outcome}` : [])).join(', '),
  ]
    .filter((part) => part !== '')
    .join('; ');
  const code = exitCodeOf({ hosts: hosts as unknown as HostSummary[], interrupted });
  // An ending has the name of its exit code.
  const kind = Object.entries(exitCode).find(([, each]) => each === code)?.[0] as Ending['kind'];
  if (kind !== 'converged') return { kind, text: interrupted ? kind : text };
  const changed = count(hosts, 'changed');
  if (changed > 0) return { kind, text: `converged, ${changed} changed` };
  return { kind, text: eventOf(events, 'run-started')?.check ? 'nothing to change' : 'nothing changed' };
}

type Hosts = Recorded<'run-finished'>['hosts'];

function count(hosts: Hosts, outcome: string): number {
  return hosts.reduce((sum, { counts }) => sum + (counts[outcome] ?? 0), 0);
}

function list(what: string, hosts: Hosts): string {
  return hosts.length === 0 ? '' : `${what}: ${firstOf(hosts.map(({ host }) => host))}`;
}

/** `db-1, rpc-1, rpc-2, rpc-3 and 8 more`. */
export function firstOf(names: readonly string[]): string {
  const more = names.length > named ? ` and ${names.length - named} more` : '';
  return `${names.slice(0, named).join(', ')}${more}`;
}
