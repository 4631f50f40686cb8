import { Problem } from '../problem/problem.ts';

/** Asks the operator without showing what is typed. @throws Problem with the code of an interrupted run on Ctrl-C */
export type Ask = (question: string) => Promise<string>;

/** As often as ssh and sudo ask. */
const tries = 3;

/**
 * Asks for a passphrase until it fits, three times at most.
 *
 * @param wrong what to say when it does not
 * @param open gives what the passphrase opens, or undefined (or null) when it does not fit
 * @throws Problem after the last try
 */
export async function askUntilRight<T>(
  ask: Ask,
  question: string,
  wrong: string,
  open: (passphrase: string) => Promise<T | null | undefined>,
): Promise<T> {
  for (let left = tries; left > 0; left--) {
    const opened = await open(await ask(left === tries ? question : `${wrong}; once more: `));
    if (opened !== null && opened !== undefined) return opened;
  }
  throw new Problem(wrong);
}
