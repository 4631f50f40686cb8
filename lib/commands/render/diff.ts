import { isDeepStrictEqual } from 'node:util';
import type { Paint } from '../../engine/output/colour.ts';
import { paintDiff } from '../../engine/output/lines.ts';
import { textDiff } from '../../engine/resource/diff.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { blanked, type Content } from '../../engine/resource/file/content.ts';
import { printable } from '../../engine/text/printable.ts';
import type { RenderedFile } from '../../node/render/render.ts';

type HostFile = Pick<RenderedFile, 'name' | 'content'>;

/**
 * The differences between two renderings of one host, file by file, as lines to print. Secrets are
 * compared, and never shown.
 *
 * @param was, wanted the host's files on either side; undefined where a side has no such host
 * @param titles of the two sides
 */
export function renderingDiff(
  host: string,
  was: readonly HostFile[] | undefined,
  wanted: readonly HostFile[] | undefined,
  titles: readonly [string, string],
  paint: Paint,
): string[] {
  if (!was || !wanted) return [`${paint('bold', printable(host))}: only in ${titles[was ? 0 : 1]}`];
  const contents = (files: readonly HostFile[]) => new Map(files.map(({ name, content }) => [name, content]));
  const [old, fresh] = [contents(was), contents(wanted)];
  return [...new Set([...old.keys(), ...fresh.keys()])].flatMap((name) => {
    const lines = fileDiff(old.get(name), fresh.get(name), titles).map((line) => paintDiff(line, paint));
    return lines.length === 0 ? [] : [paint('bold', printable(`${host}/${name}`)), ...lines];
  });
}

function fileDiff(
  was: Content | undefined,
  wanted: Content | undefined,
  titles: readonly [string, string],
): string[] {
  if (!was || !wanted) return [`only in ${titles[was ? 0 : 1]}`];
  if (was.text === wanted.text) return [];
  const [old, fresh] = [shownText(was), shownText(wanted)];
  const shown = old === fresh ? [] : (textDiff(old, fresh) ?? ['almost all of it differs']).map(printable);
  if (isDeepStrictEqual(secretsIn(was), secretsIn(wanted))) return shown;
  return [...shown, `a secret differs${shown.length > 0 ? ', too,' : ''} and is not shown`];
}

/** Without secrets, and without a service's hash: it changes with every part of the service. */
function shownText({ text, mask }: Content): string {
  const lines = mask(text).split('\n');
  return lines.map((line) => (line.includes(configHashLabel) ? line.replace(/:.*/, ': …') : line)).join('\n');
}

/** The masked parts of lines: of a URL only its password. */
function secretsIn({ text, mask }: Content): string[] {
  const masked = mask(text).split('\n');
  return text.split('\n').flatMap((line, i) => {
    const shown = (masked[i] ?? '').split(blanked);
    if (shown.length === 1) return [];
    const between = new RegExp(`^${shown.map((part) => part.replaceAll(/\W/g, '\\$&')).join('(.*)')}$`);
    return between.exec(line)?.slice(1) ?? [line];
  });
}
