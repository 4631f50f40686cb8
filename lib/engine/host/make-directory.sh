# shellcheck shell=sh disable=SC2154
# Makes a folder with its missing parents, or gives one its attributes. It follows folder-names.sh. Arguments: PATH MODE OWNER:GROUP.
# In a folder where another user can change names, a link is not followed, and a folder that is there already gets attributes only
# where it is of the only user who can change names: another one may have been put there.
path=$1 mode=$2 owner=$3 what="$1 is not changed"
look "$path"
# system-folders.ts refuses them, too, before anything is changed. Here links on the way are known.
case $missing$folder in
  /dev/* | /proc/* | /sys/*) fail "$what: $folder is a folder of the system" ;;
  /*/*/* | /lib*/*) ;;
  / | /bin | /boot | /dev | /etc | /home | /lib* | /media | /mnt | /opt | /proc | /root | /run | /sbin | /srv | /sys | /tmp | /usr | /var | \
    /usr/bin | /usr/games | /usr/include | /usr/lib* | /usr/local | /usr/sbin | /usr/share | /usr/src | \
    /var/cache | /var/lib | /var/lock | /var/log | /var/mail | /var/opt | /var/run | /var/spool | /var/tmp)
    fail "$what: $folder is a folder of the system"
    ;;
esac
# The last folder itself may be another user's.
if [ -z "$whose" ] || { [ -z "$rest" ] && [ "$whose" = "$folder" ]; }; then
  at='' left=$path/
  while [ "$left" ]; do
    at=$at${left%%/*} left=${left#*/}
    # The umask does not count where an access list of the folder above gives rights in new folders. The bits of `mkdir -m` do, at once.
    if [ ! -d "$at/" ]; then
      mkdir -m 0700 "$at" || [ -d "$at/" ] || exit
      chmod 00755 "$at" || exit
    fi
    at=$at/
  done
  # The owner first: the kernel clears set-user-id bits when the owner changes. Only five digits clear those of a folder.
  chown "$owner" "$path" && chmod "$mode" "$path"
  exit
fi

# Makes a folder in the current one. Arguments: its name, owner, mode.
make() (
  exec 9<.
  stage "$what" "$1"
  mkdir "$new" && chown "$2" "$new" && chmod "$3" "$new" && settle "$1"
)
is_absent() { [ ! -e "./$1" ] && [ ! -h "./$1" ]; }

last=${rest##*/} parents=${rest%"${rest##*/}"} rest=''
enter "$what"
while [ "$parents" ]; do
  part=${parents%%/*} parents=${parents#*/}
  if is_absent "$part"; then make "$part" 0:0 00755; fi
  rest=$part
  go_on "$what"
done
if is_absent "$last"; then
  make "$last" "$owner" "$mode"
  exit
fi
step_into "$last" || refuse "$what" "$path is not a folder there, but a link or a file"
# shellcheck disable=SC2046
set -- $(stat -c '%u %f' . /proc/self/fd/9/. "$whose")
if [ "$1" = 0 ] || [ "$1:$1" != "$3:$5" ] || [ $(((0x$4 | 0x$6) & 022)) != 0 ]; then
  refuse "$what" "$path may be a folder that was put there. Look whose it is, then: chown $owner $path && chmod $mode $path"
fi
chown "$owner" . && chmod "$mode" .
