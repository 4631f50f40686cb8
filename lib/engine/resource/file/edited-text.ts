import type { Reader, Writer } from '../../host/host.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { asText, sha256Of } from './content.ts';

/** The text of a file that something else keeps, and of which a part is to be changed. */
export interface EditedText {
  /**
   * @returns undefined where no file is
   * @throws Problem where it is not text: to write it back could damage it
   */
  read(host: Reader): Promise<string | undefined>;
  /**
   * Puts new text into it: mode, owner and group stay, and of a link it is the target that changes. It is made out of the text that
   * was read last, and made again where somebody else has written another one since.
   *
   * @param to has to be ready for another text than the one that was read
   * @returns false where no file is
   */
  change(host: Writer, to: (was: string) => string): Promise<boolean>;
}

/** How often it is made again before it is given up. */
const mostTries = 3;

export function editedText(path: string): EditedText {
  let last: Buffer | undefined;
  return {
    async read(host) {
      last = await host.read(path);
      return last && editableText(path, last);
    },
    async change(host, to) {
      for (let tries = 0; tries < mostTries; tries += 1) {
        const was = (tries === 0 ? last : undefined) ?? (await host.read(path));
        if (was === undefined) return false;
        if (await host.rewrite(path, sha256Of(was), to(editableText(path, was)))) return true;
      }
      throw new Problem(`${path} had another content each time that it was to be changed`, {
        hint: 'find out what writes it all the time, and stop that',
        code: exitCode.failed,
      });
    },
  };
}

function editableText(path: string, bytes: Buffer): string {
  const text = asText(bytes);
  if (text !== undefined) return text;
  throw new Problem(`${path} is not UTF-8 text; it is left as it is`, {
    hint: 'save it as UTF-8 there, then run again',
    code: exitCode.failed,
  });
}
