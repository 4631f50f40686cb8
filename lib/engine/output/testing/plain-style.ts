import type { Style } from '../lines.ts';

/** For tests: lines without any option, and without colours. */
export const plainStyle: Style = {
  paint: (_, text) => text,
  verbose: false,
  quiet: false,
  diff: 'short',
  check: false,
  hostWidth: 5,
  width: () => undefined,
};
