import type { Reader } from '../../host/host.ts';
import { type Step, write } from '../../host/step.ts';
import { Failure } from '../../problem/problem.ts';
import { inTheWay, isFileOrLink, kindOf } from './attributes.ts';
import { asText, sha256Of } from './content.ts';

/**
 * A text file of another program, in which a part is changed.
 *
 * @returns undefined without a file. `to` is the step that replaces the text that was read: mode,
 * owner and group stay; if the file is a
 *   link, its target changes
 * @throws Problem where it is no file, or not text: to write it back could damage it
 */
export async function readText(host: Reader, path: string) {
  const bytes = await host.read(path);
  if (bytes === undefined) {
    const there = await host.stat(path);
    if (there && !isFileOrLink(there)) throw inTheWay(path, kindOf(there), 'file');
    return undefined;
  }
  const text = asText(bytes);
  const to = (content: string): Step => ({ do: 'rewrite', path, was: sha256Of(bytes), content });
  if (text !== undefined) return { text, to };
  throw new Failure(`${path} is not UTF-8 text; the file was not changed`, {
    hint: 'save the file as UTF-8 on the host, then run again',
  });
}

/** The step of a text file that was not there (0644, root's): another text if it is there by then. */
export function newText(path: string, content: string): Step {
  return { ...write(path, content), merges: true };
}
