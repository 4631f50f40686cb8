import type { Compared, FileAttributes, Reader, Stat } from '../../host/host.ts';
import type { Step } from '../../host/step.ts';
import { changesOfFile, type Difference, drift, driftOf } from '../resource.ts';
import { refuseNoText } from '../settings.ts';
import {
  attributeDifferences,
  describeAttributes,
  inTheWay,
  isFileOrLink,
  kindOf,
  modeOf,
  type WithAttributes,
} from './attributes.ts';
import { asText, type Content, largestShown, sha256Of } from './content.ts';

export interface FileResource extends WithAttributes<FileResource> {
  content(content: string | Buffer | Content): FileResource;
}

interface Wanted {
  readonly bytes: Buffer;
  /** Decides which part of it may be shown. */
  readonly content: Content | undefined;
  readonly mode: number | undefined;
  readonly owner: string;
  readonly group: string;
}

/**
 * A file, by default root's, 0644 and empty. The file is replaced by rename, so that a reader sees
 * the old one or the new one. A directory or a device in its place is refused; a link itself is
 * replaced, not its target.
 *
 * @example file('/etc/motd').content('Managed by playbooks.\n')
 */
export function file(path: string, ...more: never[]): FileResource {
  refuseNoText('file', { path });
  // Without an error the file would become empty.
  if (more.length > 0)
    throw new TypeError(`file ${path} has no options: write file('${path}').content(…).mode(…)`);
  return make(path, {
    bytes: Buffer.alloc(0),
    content: undefined,
    mode: undefined,
    owner: 'root',
    group: 'root',
  });
}

function make(path: string, wanted: Wanted): FileResource {
  const attributes: FileAttributes = {
    mode: wanted.mode ?? (wanted.content?.holdsSecrets ? 0o600 : 0o644),
    owner: wanted.owner,
    group: wanted.group,
  };
  const hash = sha256Of(wanted.bytes);
  return {
    name: `file ${path}`,
    changes: changesOfFile(path),
    content: (content) => make(path, { ...wanted, ...given(content) }),
    mode: (mode) => make(path, { ...wanted, mode: modeOf(path, mode) }),
    owner: (owner) => make(path, { ...wanted, owner: String(owner) }),
    group: (group) => make(path, { ...wanted, group: String(group) }),

    async check(host) {
      const [stat, compared] = await Promise.all([host.stat(path), host.compare(path, hash, largestShown)]);
      const same = stat?.type === 'file' && compared.same;
      const content = same ? [] : await contentDifference(host, path, stat, wanted, compared);
      const differences = [...presence(stat, attributes), ...content];
      if (stat && !isFileOrLink(stat)) {
        return drift(differences, inTheWay(path, kindOf(stat), 'file'));
      }
      // It may hold others than the known ones.
      const secret = wanted.content !== undefined;
      const whole: Step = { do: 'write', path, content: wanted.bytes, secret, attributes };
      // Also where only attributes differ: the host keeps a file with this content, except where
      // its name may lead elsewhere.
      return driftOf(differences, [whole]);
    },
  };
}

function given(content: string | Buffer | Content): Pick<Wanted, 'bytes' | 'content'> {
  if (typeof content === 'string') return { bytes: Buffer.from(content), content: undefined };
  if (Buffer.isBuffer(content)) return { bytes: content, content: undefined };
  return { bytes: Buffer.from(content.text), content };
}

function presence(stat: Stat | undefined, attributes: FileAttributes): Difference[] {
  const wanted = `file, ${describeAttributes(attributes)}`;
  if (!stat) return [{ what: 'file', was: 'absent', wanted }];
  if (stat.type !== 'file') return [{ what: 'file', was: kindOf(stat), wanted }];
  return attributeDifferences(stat, attributes);
}

async function contentDifference(
  host: Reader,
  path: string,
  stat: Stat | undefined,
  wanted: Wanted,
  compared: Compared,
): Promise<Difference[]> {
  if (stat && stat.type !== 'file') return [];
  const small = wanted.bytes.length <= largestShown && (stat?.size ?? 0) <= largestShown;
  const there = compared.same ? wanted.bytes : compared.content;
  const old = stat ? there : Buffer.alloc(0);
  const was = small && old ? asText(old) : undefined;
  const next = small ? asText(wanted.bytes) : undefined;
  if (was === undefined || next === undefined) return [await opaqueDifference(host, path, stat, wanted)];
  if (!wanted.content) return was === next ? [] : [{ what: 'content', was, wanted: next }];
  const masked = { was: wanted.content.mask(was), wanted: wanted.content.mask(next) };
  if (masked.was !== masked.wanted) return [{ what: 'content', ...masked }];
  return [{ what: 'secret values in it', was: 'others', wanted: 'the given ones' }];
}

/**
 * Large files and binary ones are shown by size and the start of the hash, files with secrets by
 * the size alone.
 */
async function opaqueDifference(host: Reader, path: string, stat: Stat | undefined, wanted: Wanted) {
  const describe = (size: number, hash: string | undefined) =>
    wanted.content ? `${size} bytes` : `${size} bytes, sha256 ${hash?.slice(0, 12) ?? 'unreadable'}`;
  const was = stat ? describe(stat.size, await host.sha256(path)) : '';
  return { what: 'content', was, wanted: describe(wanted.bytes.length, sha256Of(wanted.bytes)) };
}
