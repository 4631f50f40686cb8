import { isDeepStrictEqual } from 'node:util';
import type { Paint } from '../../engine/output/colour.ts';
import { paintDiff } from '../../engine/output/lines.ts';
import { textDiff } from '../../engine/resource/diff.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { blanked, type Content } from '../../engine/resource/file/content.ts';
import { printable } from '../../engine/text/printable.ts';

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
  if (!was || !wanted) return [`${paint('bold', printable(host))}: only in ${was ? named[0] : named[1]}`];
  const names = [...new Set([...was, ...wanted].map(({ name }) => name))];
  return names.flatMap((name) => {
    const [old, fresh] = [was, wanted].map((files) => files.find((file) => file.name === name)?.content);
    const lines = fileDiff(old, fresh, named);
    return lines.length === 0
      ? []
      : [paint('bold', printable(`${host}/${name}`)), ...lines.map((line) => paintDiff(line, paint))];
  });
}

function fileDiff(was: Content | undefined, wanted: Content | undefined, named: readonly [string, string]): string[] {
  if (!was || !wanted) return [`only in ${was ? named[0] : named[1]}`];
  if (was.text === wanted.text) return [];
  const [old, fresh] = [was, wanted].map(({ text, mask }) => withoutHashes(mask(text)));
  const shown = old === fresh ? [] : (textDiff(old ?? '', fresh ?? '') ?? ['almost all of it differs']);
  if (sameSecrets(was, wanted)) return shown.map(printable);
  return [...shown.map(printable), `a secret differs${shown.length > 0 ? ', too,' : ''} and is not shown`];
}

/** A service's hash differs wherever anything of it does, and says no more. */
function withoutHashes(text: string): string {
  const lines = text.split('\n');
  return lines.map((line) => (line.includes(configHashLabel) ? line.replace(/:.*/, ': …') : line)).join('\n');
}

function sameSecrets(was: Content, wanted: Content): boolean {
  return isDeepStrictEqual(secretsIn(was), secretsIn(wanted));
}

/** What is blanked, and no more: of a URL the password alone. */
function secretsIn({ text, mask }: Content): string[] {
  const masked = mask(text).split('\n');
  return text.split('\n').flatMap((line, i) => {
    const shown = (masked[i] ?? '').split(blanked);
    if (shown.length === 1) return [];
    const between = new RegExp(`^${shown.map((part) => part.replaceAll(/\W/g, '\\$&')).join('(.*)')}$`);
    return between.exec(line)?.slice(1) ?? [line];
  });
}
