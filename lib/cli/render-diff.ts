import { printable } from '../printable.ts';
import type { Content } from '../resource/content.ts';
import { textDiff } from '../resource/diff.ts';
import type { Paint } from './colour.ts';
import { paintDiff } from './lines.ts';

/** One rendered file of a host. */
export interface HostFile {
  readonly name: string;
  readonly content: Content;
}

/**
 * What differs between two renderings of one host, file by file, as lines to print. Of a secret it is only said that it differs.
 *
 * @param was, wanted the host's files on either side; undefined where a side has no such host
 * @param named the two sides as an operator calls them
 */
export function renderingDiff(
  host: string,
  was: readonly HostFile[] | undefined,
  wanted: readonly HostFile[] | undefined,
  named: readonly [string, string],
  paint: Paint,
): string[] {
  if (!was || !wanted) return [`${paint('bold', host)}: only in ${was ? named[0] : named[1]}`];
  const names = [...new Set([...was, ...wanted].map(({ name }) => name))];
  return names.flatMap((name) => {
    const [old, fresh] = [was, wanted].map((files) => files.find((file) => file.name === name)?.content);
    const lines = fileDiff(old, fresh, named);
    return lines.length === 0 ? [] : [paint('bold', `${host}/${name}`), ...lines.map((line) => paintDiff(line, paint))];
  });
}

function fileDiff(was: Content | undefined, wanted: Content | undefined, named: readonly [string, string]): string[] {
  if (!was || !wanted) return [`only in ${was ? named[0] : named[1]}`];
  if (was.text === wanted.text) return [];
  const shown = textDiff(was.mask(was.text), wanted.mask(wanted.text)) ?? ['almost all of it differs'];
  return [...shown.map(printable), ...(sameSecrets(was, wanted) ? [] : ['a secret differs, too, and is not shown'])];
}

/** Of what is blanked in both. */
function sameSecrets(was: Content, wanted: Content): boolean {
  const hidden = ({ text, mask }: Content): string => {
    const masked = mask(text).split('\n');
    return text
      .split('\n')
      .filter((line, i) => line !== masked[i])
      .join('\n');
  };
  return hidden(was) === hidden(wanted);
}
