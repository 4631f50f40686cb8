import { readable } from '../../../text/printable.ts';

/** Lines that ssh says in any case, or that are said in other words already. */
const noWords =
  /^\s*$|^(debug\d: |OpenSSH_|Authenticated |Transferred: |Bytes per second: |channel \d+: |mux_|Disconnected from |Host key verification failed|\S+: Permission denied \()/;

/**
 * What ssh and the server said, without what ssh says of its work. The last words are the newest.
 */
export function wordsOf(said: readonly string[]): readonly string[] {
  return said.filter((line) => !noWords.test(line)).map(readable);
}
