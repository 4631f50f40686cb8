import { exitCode } from '../problem/problem.ts';
import type { HostSummary } from '../run/events.ts';
import { exitCodeOf } from '../run/exit-code.ts';
import type { Recorded, RecordedEvent } from './recorded-event.ts';

/** How a run ended. `open`: no end is recorded. */
export type EndingKind = 'converged' | 'pending' | 'failed' | 'unreachable' | 'interrupted' | 'open';

export interface Ending {
  readonly kind: EndingKind;
  /** In a few words, with hosts and numbers. */
  readonly text: string;
}

/** Hosts that are named before the rest are only counted. */
const named = 4;

/** How the run ended, by the same rules as its exit code. */
export function endingOf(events: readonly RecordedEvent[]): Ending {
  const finished = eventOf(events, 'run-finished');
  const broken = eventOf(events, 'run-failed');
  if (broken) return { kind: 'failed', text: `failed: ${broken.error.split('\n')[0]}` };
  if (!finished) return { kind: 'open', text: 'no end is recorded: it was killed, or still goes on' };
  const check = eventOf(events, 'run-started')?.check ?? false;
  const { hosts, interrupted } = finished;
  const code = exitCodeOf({ hosts: hosts as unknown as HostSummary[], interrupted });
  const unreachable = hosts.filter((host) => host.unreachable).map(({ host }) => host);
  const failed = hosts.filter((host) => !host.unreachable && (count([host], 'failed') > 0 || host.stopped));
  const open = ['pending', 'unknown'].flatMap((outcome) => {
    const found = count(hosts, outcome);
    return found > 0 ? `${found} ${outcome}` : [];
  });
  const parts = [
    ...(failed.length > 0 ? [`failed: ${list(failed.map(({ host }) => host))}`] : []),
    ...(unreachable.length > 0 ? [`unreachable: ${list(unreachable)}`] : []),
    ...(open.length > 0 ? [open.join(', ')] : []),
  ];
  switch (code) {
    case exitCode.interrupted:
      return { kind: 'interrupted', text: 'interrupted' };
    case exitCode.failed:
      return { kind: 'failed', text: parts.join('; ') };
    case exitCode.unreachable:
      return { kind: 'unreachable', text: parts.join('; ') };
    case exitCode.pending:
      return { kind: 'pending', text: parts.join('; ') };
    default: {
      const changed = count(hosts, 'changed');
      const nothing = check ? 'nothing to change' : 'nothing changed';
      return { kind: 'converged', text: changed > 0 ? `converged, ${changed} changed` : nothing };
    }
  }
}

/** The first event of a type. */
export function eventOf<T extends RecordedEvent['type']>(
  events: readonly RecordedEvent[],
  type: T,
): Recorded<T> | undefined {
  return events.find((event): event is Recorded<T> => event.type === type);
}

function count(hosts: Recorded<'run-finished'>['hosts'], outcome: string): number {
  return hosts.reduce((sum, { counts }) => sum + (counts[outcome] ?? 0), 0);
}

function list(names: readonly string[]): string {
  const more = names.length - named;
  return `${names.slice(0, named).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
