import { quitByOperator } from './converge.ts';
import type { HostRun } from './host-run.ts';
import type { RunEnd } from './lock/journal.ts';

/**
 * How a run ended on a host.
 *
 * @param failure of the whole run
 */
export function endOf(host: HostRun, interrupted: boolean, failure?: unknown): RunEnd {
  const { stopped: why, titles } = host;
  const all = { ...(why !== undefined && { why }), ...titles };
  if (titles.failed.length > 0 || failure !== undefined) return { ended: 'failed', ...all };
  if (why === undefined) return { ended: 'converged', ...all };
  if (why === quitByOperator) return { ended: 'stopped', ...all };
  return { ended: interrupted ? 'interrupted' : 'failed', ...all };
}
