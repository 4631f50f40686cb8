import { readProgram } from '../../engine/host/script.ts';

/**
 * The folder of node_exporter's textfile collector. Of the packages; systemd creates none of them.
 */
export const textfiles = '/var/lib/prometheus/node-exporter';

/**
 * A program for a host that writes metrics for the textfile collector, with the functions that
 * hand their file over and act as another user.
 *
 * @param names of its file in templates/host, without `.sh`, and before it of those with functions
 * of its own
 */
export function metricsProgram(...names: readonly string[]): string {
  const files = ['as-user', 'hand-over', ...names].map(
    (each) => new URL(`../../../templates/host/${each}.sh`, import.meta.url),
  );
  return readProgram(...files);
}
