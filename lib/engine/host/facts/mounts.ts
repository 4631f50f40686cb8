import type { Mount } from './facts.ts';

/** File systems that live on other machines. A dead one hangs whoever looks at it. */
const network = [
  'nfs',
  'nfs4',
  'cifs',
  'smb3',
  'ceph',
  'lustre',
  'afs',
  '9p',
  'virtiofs',
  'fuse.sshfs',
  'fuse.glusterfs',
];

/** Local ones whose source is no device under /dev. */
const pools = ['zfs', 'bcachefs'];

/** Images that are never written: not what anybody means by the host's file systems. */
const images = ['squashfs', 'iso9660', 'erofs', 'udf'];

/**
 * Lines of /proc/self/mountinfo that are taken, then an empty line, then for each of them block size, blocks, blocks available
 * and the directory. A file that is mounted over another one (as containers do with /etc/hosts) is no file system. A space in
 * a name is written \\040 in mountinfo.
 */
function mountsCommand(taken: string, isDirectory: string): string {
  return `while IFS= read -r __x;do
__y=\${__x##* - }
case "$__y" in ${taken}) ;;*)continue;;esac
__y=\${__x#* * * * };__y=\${__y%% *}
case "$__y" in *\\\\*)__y=$(printf '%b.' "$(printf '%s' "$__y"|sed 's/\\\\/\\\\0/g')");__y=\${__y%.};;esac
${isDirectory}
printf '%s\\n' "$__x"
set -- "$@" "$__y"
done </proc/self/mountinfo
echo
[ $# = 0 ]||stat -f -c '%S %b %a %n' -- "$@"
exit 0`;
}

const starts = (types: readonly string[]) => types.map((type) => `"${type} "*`).join('|');

export const localMountsCommand = mountsCommand(
  `${starts([...images, ...network])})continue;;*" /dev/"*|${starts(pools)}`,
  '[ -d "$__y" ]||continue',
);
export const networkMountsCommand = mountsCommand(starts(network), '');

/** @param text what one of the commands printed. Where a directory is mounted over, the upper one counts. */
export function parseMounts(text: string): Mount[] {
  const gap = /^$/m.exec(text)?.index ?? text.length;
  const sizes = new Map(
    text
      .slice(gap)
      .split('\n')
      .flatMap((line): [string, { size: number; available: number }][] => {
        const [, unit, blocks, available, target] = /^(\d+) (\d+) (\d+) (.*)$/.exec(line) ?? [];
        if (target === undefined) return [];
        return [[target, { size: Number(unit) * Number(blocks), available: Number(unit) * Number(available) }]];
      }),
  );
  const mounts = new Map<string, Mount>();
  for (const line of text.slice(0, gap).split('\n').filter(Boolean)) {
    const mount = parseLine(line);
    const { size, available } = sizes.get(mount.target) ?? { size: 0, available: 0 };
    mounts.set(mount.target, { ...mount, size, available });
  }
  return [...mounts.values()];
}

/** proc(5): id parent major:minor root target options tags… - type source options-of-the-file-system */
function parseLine(line: string): Omit<Mount, 'size' | 'available'> {
  const [own = '', above = ''] = line.split(' - ');
  const [, , , , target = '', options = ''] = own.split(' ');
  const [type = '', source = '', all = ''] = above.split(' ');
  return {
    target: unescapeOctal(target),
    source: unescapeOctal(source),
    type,
    // Either may be read-only by itself.
    options: [...new Set([...options.split(','), ...all.split(',').filter((option) => option !== 'rw')])].filter(
      (option, _, every) => option !== 'rw' || !every.includes('ro'),
    ),
  };
}

function unescapeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
