import { Unreachable } from '../connection-errors.ts';

/**
 * An error of a login that several hosts share, under the name of another one of them.
 *
 * @param from the host whose name the error has
 * @param to the host that is named instead
 */
export function renamed(error: unknown, from: string, to: string): unknown {
  if (!(error instanceof Unreachable) || from === to || !error.message.startsWith(`${from}: `)) return error;
  const Same = error.constructor as typeof Unreachable;
  return new Same(to, error.message.slice(from.length + 2), error.hint, error.cause);
}
