import { Problem } from '../problem/problem.ts';

/**
 * Asks the operator without showing what is typed.
 *
 * @throws Problem with the code of an interrupted run on Ctrl-C
 */
export type Ask = (question: string) => Promise<string>;

/**
 * Asks for a passphrase until it is right, at most three times, like ssh and sudo.
 *
 * @param wrong the message about a wrong one
 * @param open returns the result for a passphrase, or undefined for a wrong one
 * @throws Problem after the last try
 */
export async function askUntilRight<T>(
  ask: Ask,
  question: string,
  wrong: string,
  open: (passphrase: string) => Promise<T | undefined>,
): Promise<T> {
  for (const prompt of [question, ...Array(2).fill(`${wrong}; once more: `)]) {
    const opened = await open(await ask(prompt));
    if (opened !== undefined) return opened;
  }
  throw new Problem(wrong);
}
