import type { Style } from '../lines.ts';

/** For tests: how lines look without any option, and without colours. */
export const plainStyle: Style = {
  paint: (_, text) => text,
  verbose: false,
  quiet: false,
  diff: 'short',
  check: false,
  hostWidth: 5,
};
