import type { Reader, Writer } from '../../host/host.ts';
import { exitCode, Problem } from '../../problem/problem.ts';
import { asText, sha256Of } from './content.ts';

/** A text file of another program, in which a part is changed. */
export interface EditedText {
  /** @returns undefined without a file. @throws Problem where it is not text: to write it back could damage it */
  read(host: Reader): Promise<string | undefined>;
  /**
   * Replaces the text. Mode, owner and group stay; if it is a link, its target changes. After a change by another program since the
   * last `read`, the file is read again.
   *
   * @param to makes the new text, out of any text
   * @returns false without a file
   */
  change(host: Writer, to: (was: string) => string): Promise<boolean>;
}

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
      throw new Problem(`${path} was changed by another program at each of ${mostTries} tries to change it`, {
        hint: 'find the program that writes it all the time, and stop it',
        code: exitCode.failed,
      });
    },
  };
}

function editableText(path: string, bytes: Buffer): string {
  const text = asText(bytes);
  if (text !== undefined) return text;
  throw new Problem(`${path} is not UTF-8 text; the file was not changed`, {
    hint: 'save it as UTF-8 there, then run again',
    code: exitCode.failed,
  });
}
