import { didYouMean } from '../text/suggest.ts';

/**
 * Refuses settings that a resource does not have. No compiler checks a team's own roles: what is
 * misspelt there would have no effect, and nobody would be told.
 *
 * @param resource for the error, such as `user deploy`
 * @param known every key of the settings
 * @throws TypeError that names the first of them
 */
export function refuseUnknownSettings<T extends object>(
  resource: string,
  settings: T,
  known: Readonly<Record<keyof Required<T>, true>>,
): void {
  const unknown = Object.keys(settings).find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  const meant = didYouMean(unknown, Object.keys(known));
  throw new TypeError(`${resource} has no setting ${unknown}${meant ? `: ${meant}` : ''}`);
}
