import { didYouMean } from '../text/suggest.ts';

/**
 * Refuses settings that nothing would read. No compiler checks a team's own roles and playbooks: a
 * misspelt setting would have no effect there, without a word.
 *
 * @param owner for the error, such as `user deploy`
 * @param known every key of the settings
 * @param word what one of them is called
 * @throws TypeError that names the first of them
 */
export function refuseUnknownSettings<T extends object>(
  owner: string,
  settings: T,
  known: Readonly<Record<keyof Required<T>, true>>,
  word = 'setting',
): void {
  const unknown = Object.keys(settings).find((key) => !Object.hasOwn(known, key));
  if (unknown === undefined) return;
  const meant = didYouMean(unknown, Object.keys(known));
  throw new TypeError(`${owner} has no ${word} ${unknown}${meant ? `: ${meant}` : ''}`);
}

/**
 * Refuses arguments that are no text, as a variable that is not set: `user undefined` would be made.
 *
 * @param kind for the error, such as `user`
 * @param texts arguments by their names
 * @throws TypeError that names the first of them
 */
export function refuseNoText(kind: string, texts: Readonly<Record<string, unknown>>): void {
  for (const [name, text] of Object.entries(texts)) {
    if (typeof text !== 'string') throw new TypeError(`${kind}: ${name} is ${text}, and has to be text`);
  }
}
