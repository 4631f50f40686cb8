import { editJson } from '../file/json-file.ts';

/** The file of the engine's settings. */
export const settings = '/etc/docker/daemon.json';

/**
 * The engine's settings with another data-root; every other key stays.
 *
 * @param text of the file.
 * @throws Problem as `editJson`
 */
export function withDataRoot(text: string, root: string): string {
  return editJson(settings, text, (object) => {
    // `graph` is the older name of data-root: with both, the engine does not start.
    const kept = Object.entries(object).filter(([key]) => key !== 'graph' && key !== 'data-root');
    return Object.fromEntries([...kept, ['data-root', root]]);
  });
}
