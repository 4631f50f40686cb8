import { exitCode, Problem } from '../../problem/problem.ts';
import { changesOfFile } from '../change.ts';
import { drift, ok, type Resource, unknownUntil } from '../resource.ts';
import { editedText } from './edited-text.ts';

/** One line that has to stand in a file that something else keeps. */
export interface LineResource extends Resource {
  /** Which line it takes the place of. The pattern has to match the new line as well, or it would be replaced for ever. */
  matching(pattern: RegExp): LineResource;
}

/** A line in a file: appended where no line matches, in place of the one that does. Every other line stays as it is. */
export function line(path: string, text: string): LineResource {
  if (text.includes('\n')) throw new TypeError(`line for ${path}: more than one line given`);
  return make(path, text, undefined);
}

function make(path: string, text: string, pattern: RegExp | undefined): LineResource {
  const file = editedText(path);
  return {
    name: `line "${text}" in ${path}`,
    changes: changesOfFile(path),
    matching(wanted) {
      // A pattern with a memory (g, y) would answer differently each time.
      const plain = new RegExp(wanted.source, wanted.flags.replace(/[gy]/g, ''));
      if (!plain.test(text)) throw new TypeError(`line for ${path}: ${plain} does not match the line itself`);
      return make(path, text, plain);
    },

    async check(host) {
      const was = await file.read(host);
      if (was === undefined) return unknownUntil(`${path} is there`);
      const wanted = withLine(path, was, text, pattern);
      return was === wanted ? ok : drift([{ what: 'content', was, wanted }]);
    },

    async apply(host) {
      if (await file.change(host, (was) => withLine(path, was, text, pattern))) return;
      throw new Problem(`${path} is not there`, {
        hint: 'it belongs to every distribution: find out who removed it',
        code: exitCode.failed,
      });
    },
  };
}

/**
 * The file with the line in it.
 *
 * @throws Problem where more than one line matches, as it is not clear then which one is meant
 */
export function withLine(path: string, content: string, text: string, pattern?: RegExp): string {
  const lines = content.split('\n');
  const matching = lines.flatMap((at, index) => ((pattern ? pattern.test(at) : at === text) ? [index] : []));
  const different = matching.filter((index) => lines[index] !== text);
  const [only] = different;
  if (matching.length > 0 && only === undefined) return content;
  if (only !== undefined) {
    if (matching.length > 1) {
      throw new Problem(`${matching.length} lines of ${path} match ${pattern}; it is not clear which one to replace`, {
        hint: `leave one of lines ${matching.map((index) => index + 1).join(', ')}`,
        code: exitCode.failed,
      });
    }
    return lines.with(only, text).join('\n');
  }
  const end = content === '' || content.endsWith('\n') ? '' : '\n';
  return `${content}${end}${text}\n`;
}
