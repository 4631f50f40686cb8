import { Failure } from '../../problem/problem.ts';
import { changesOfFile, drift, ok, type Resource, unknownUntil } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import { readText } from './edited-text.ts';

/**
 * A line in a file of another program. The line replaces the one that matches, or is appended if
 * none does. Other lines stay.
 *
 * @param matching the line that it replaces. The pattern has to match the new line as well, or
 * every run would replace it again
 * @example line('/etc/hosts', '10.0.0.5 registry', /\sregistry$/)
 */
export function line(path: string, text: string, matching?: RegExp): Resource {
  refuseNoText('line', { path, text });
  if (text.includes('\n')) throw new TypeError(`line for ${path}: more than one line given`);
  // A stateful pattern (g, y) would give a different result each time.
  const pattern = matching && new RegExp(matching.source, matching.flags.replace(/[gy]/g, ''));
  if (pattern?.test(text) === false)
    throw new TypeError(`line for ${path}: ${pattern} does not match the line itself`);
  return {
    name: `line "${text}" in ${path}`,
    changes: changesOfFile(path),

    async check(host) {
      const file = await readText(host, path);
      if (file === undefined) return unknownUntil(`${path} is there`);
      const wanted = withLine(path, file.text, text, pattern);
      if (file.text === wanted) return ok;
      return drift([{ what: 'content', was: file.text, wanted }], [file.to(wanted)]);
    },
  };
}

/**
 * The file with the line in it.
 *
 * @throws Problem where more than one line matches
 */
function withLine(path: string, content: string, text: string, pattern?: RegExp): string {
  const lines = content.split('\n');
  const matches = (line: string) => (pattern ? pattern.test(line) : line === text);
  const matching = lines.flatMap((line, index) => (matches(line) ? [index] : []));
  const different = matching.filter((index) => lines[index] !== text);
  const [only] = different;
  if (matching.length > 0 && only === undefined) return content;
  if (only !== undefined) {
    if (matching.length > 1) {
      throw new Failure(
        `${matching.length} lines of ${path} match ${pattern}; it is not clear which one to replace`,
        {
          hint: `leave one of lines ${matching.map((index) => index + 1).join(', ')}`,
        },
      );
    }
    return lines.with(only, text).join('\n');
  }
  const end = content === '' || content.endsWith('\n') ? '' : '\n';
  return `${content}${end}${text}\n`;
}
