# shellcheck shell=sh
# Prints lines of /proc/self/mountinfo, an empty line, then block size, blocks, available blocks and directory of each of them.
# Then the directories with a warning that their data will be lost.
# Argument: `local` or `network`. A network file system may be dead, and then every access to it hangs.
wanted=$1
set --
while IFS= read -r line; do
  case ${line##* - } in
    'nfs '* | 'nfs4 '* | 'cifs '* | 'smb3 '* | 'ceph '* | 'lustre '* | 'afs '* | '9p '* | 'virtiofs '* | 'fuse.sshfs '* | 'fuse.glusterfs '*)
      kind=network
      ;;
    # Read-only images are not among the host's file systems.
    'squashfs '* | 'iso9660 '* | 'erofs '* | 'udf '*) continue ;;
    # Memory counts, as data must not be there. What lies there by design does not.
    'tmpfs '* | 'ramfs '*)
      case $line in *' /dev '* | *' /dev/'* | *' /run '* | *' /run/'* | *' /sys/'* | *' /proc/'*) continue ;; esac
      kind=local
      ;;
    # The source of a pool is not a device under /dev.
    *' /dev/'* | 'zfs '* | 'bcachefs '*) kind=local ;;
    *) continue ;;
  esac
  [ "$kind" = "$wanted" ] || continue
  target=${line#* * * * }
  target=${target%% *}
  # A space is written \040.
  case $target in
    *\\*)
      target=$(printf '%b.' "$(printf %s "$target" | sed 's/\\/\\0/g')")
      target=${target%.}
      ;;
  esac
  # A file that is mounted over another one, as containers do with /etc/hosts, is not a file system.
  [ "$kind" = network ] || [ -d "$target" ] || continue
  printf '%s\n' "$line"
  set -- "$@" "$target"
done </proc/self/mountinfo
echo
[ $# = 0 ] || stat -f -c '%S %b %a %n' -- "$@"
[ "$wanted" = network ] || for target; do
  # Of Azure's agent, at the top of the temporary disk.
  [ ! -e "$target/DATALOSS_WARNING_README.txt" ] || echo "data-loss $target"
done
exit 0
