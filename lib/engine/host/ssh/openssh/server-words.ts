import { wordsOf } from './words-of.ts';

/** The function of ssh that prints a message of the server. */
export const placeOfMessage = 'input_userauth_banner()';

/**
 * What the server said during the login. An ssh before 8.5 does not mark it: then all lines after
 * the begin of the login are taken for it.
 *
 * @param said the lines of standard error of ssh
 * @param isMarked whether a line of placeOfMessage comes before each message
 */
export function wordsOfServer(said: readonly string[], isMarked: boolean): readonly string[] {
  const begins = (line: string) =>
    isMarked ? line.includes(`:${placeOfMessage}`) : line.startsWith('debug1: SSH2_MSG_SERVICE_ACCEPT');
  let isMessage = false;
  return wordsOf(
    said.filter((line) => {
      if (/^debug\d: /.test(line)) isMessage = begins(line) || (isMessage && !isMarked);
      return isMessage || line.startsWith('Received disconnect from ');
    }),
  );
}
