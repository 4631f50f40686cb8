import { type ExitCode, exitCode } from '../problem/problem.ts';
import type { HostSummary } from './events.ts';
import type { RunResult } from './run-options.ts';

/** The exit code of a run. A failure outweighs an unreachable host, and both outweigh pending changes. */
export function exitCodeOf({
  hosts,
  interrupted,
  declined = false,
}: Pick<RunResult, 'hosts' | 'interrupted'> & Partial<Pick<RunResult, 'declined'>>): ExitCode {
  if (interrupted) return exitCode.interrupted;
  if (hosts.some((host) => host.counts.failed > 0)) return exitCode.failed;
  if (hosts.some((host) => host.unreachable)) return exitCode.unreachable;
  if (declined) return exitCode.pending;
  if (hosts.some((host) => host.stopped)) return exitCode.failed;
  const left = ({ pending, unknown, skipped = 0 }: HostSummary['counts']) => pending + unknown + skipped;
  if (hosts.some((host) => left(host.counts) > 0)) return exitCode.pending;
  return exitCode.converged;
}
