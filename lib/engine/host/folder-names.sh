# shellcheck shell=sh disable=SC2034
# Who can change the names on the way to a file. Where another user than root can, a name may lead elsewhere a moment later. There root
# holds the folder itself, by a file descriptor; makes a thing in a folder that nobody else can enter; and renames it into its place.
newline='
'

fail() {
  printf '%s\n' "$1" >&2
  exit 1
}

# Whether nobody but root can change names in a folder, or is the owner of a link. Arguments: mode in hex, owner, group, path, and
# any word if nobody else may add names there, either. Sets $shared in a folder where everybody can add names, and change their own: /tmp.
is_roots() {
  bits=$((0x$1)) shared=''
  [ "$2" = 0 ] || return
  [ $((bits & 0170000)) != $((0120000)) ] && [ $((bits & 022)) != 0 ] || return 0
  if [ -z "$5" ] && [ $((bits & 01000)) != 0 ]; then
    shared=1
    return 0
  fi
  [ $((bits & 02)) = 0 ] && [ "$3" = 0 ] || return
  # With an ACL the bits of the group are the most that any of its users may do.
  case $(ls -ld -- "$4") in ??????????+*) return 1 ;; esac
}

# Sets $folder to the path of a folder without links, $missing to what is not there of it, and where another user can change a name on
# the way to it or in it: $whose, the first such folder; $who that is; $rest of the way from there. Argument: a path.
look() {
  rest=$1/ at='' missing='' links=0 count=1
  seen=/ left=$rest$newline
  while [ "$rest" ]; do
    part=${rest%%/*} rest=${rest#*/}
    case $part in
      '' | .) continue ;;
      ..) at=${at%/*} && continue ;;
    esac
    if [ -h "$at/$part" ]; then
      links=$((links + 1))
      [ "$links" -le 40 ] || fail "$1 leads through too many links"
      seen=$seen$newline$at/$part left=$left$part/$rest$newline
      target=$(readlink "$at/$part") || exit
      case $target in /*) at='' ;; esac
      rest=$target/$rest
    elif [ -e "$at/$part" ]; then
      at=$at/$part
      seen=$seen$newline$at left=$left$rest$newline
    else
      missing=$part/$rest
      break
    fi
    count=$((count + 1))
    [ "$count" -le 400 ] || fail "$1 leads through too many folders"
  done
  folder=${at:-/} whose='' who='' judged=0 shared=''
  set -f
  IFS=$newline
  # shellcheck disable=SC2086
  states=$(stat -c '%f %u %g %n' -- $seen 2>/dev/null)
  unset IFS
  set +f
  while [ "$judged" -lt "$count" ] && read -r state uid gid one; do
    judged=$((judged + 1))
    rest=${left%%"$newline"*} left=${left#*"$newline"} was_shared=$shared last=''
    [ "$judged" -lt "$count" ] || last=1
    if ! is_roots "$state" "$uid" "$gid" "$one" "$last"; then
      describe
      break
    fi
  done <<END
$states
END
  [ "$whose" ] || [ "$judged" = "$count" ] || fail "the way to $1 changes all the time"
}

# The same for a file: sets $file to its path behind links that only root can change. Argument: the file.
look_at_file() {
  file=$1
  for _ in 1 2 3 4 5 6 7 8; do
    look "${file%/*}/"
    if [ "$whose" ] || [ ! -h "$file" ]; then return 0; fi
    target=$(readlink "$file") || exit
    case $target in /*) file=$target ;; *) file=${folder%/}/$target ;; esac
  done
  fail "$1 leads through too many links"
}

# Sets $whose and $who from the state that is not root's alone, and $named: the folder for a message. That is one of the user's own in a
# folder for everybody, where $whose is the latter.
describe() {
  whose=$one named=''
  if [ "$uid" != 0 ]; then
    who=$(stat -c %U -- "$one")
    case $who in '' | UNKNOWN) who="user $uid" ;; esac
  elif [ $((bits & 02)) != 0 ]; then who=everybody
  elif [ "$gid" != 0 ]; then
    who="group $(stat -c %G -- "$one")"
    case $who in *' ' | *' UNKNOWN') who="group $gid" ;; esac
  else who='a user of its ACL'
  fi
  if [ $((bits & 0170000)) = $((0120000)) ]; then
    whose=${one%/*}
  elif [ "$was_shared" ]; then
    whose=${one%/*} rest=${one##*/}/$rest named=$one
  fi
  whose=${whose:-/} named=${named:-${whose:-/}}
  # Without slashes at its ends and beside one another.
  rest=$(printf %s "/$rest/" | sed 's,/\(\./\)*,/,g; s,//*,/,g; s,^/,,; s,/$,,')
}

# Refuses what `look` has looked at. Arguments: what is not done, and why.
refuse() {
  fail "$1: $who can change the names in $named, and $2"
}

# Changes to a folder by its name in the current one. It must be there itself: not behind a link, and not moved meanwhile.
step_into() {
  before=${PWD%/}
  cd -P "./$1" 2>/dev/null && [ "$PWD" = "$before/$1" ]
}

# Changes to the folder $whose/$rest, and holds it by file descriptor 9. Argument: what is not done otherwise.
enter() {
  if ! { cd -P "$whose" && [ "$PWD" = "$whose" ]; }; then refuse "$1" 'it was moved'; fi
  go_on "$1"
}

# The same from the current folder.
go_on() {
  while [ "$rest" ]; do
    part=${rest%%/*}
    case $rest in */*) rest=${rest#*/} ;; *) rest='' ;; esac
    # Two dots are no name of a folder in it, either.
    step_into "$part" ||
      refuse "$1" "$before/$part is not a folder there, but a link, or absent. Put a folder there, or choose a path that only root can change"
  done
  exec 9<.
}

# The start of a name, which leaves room for more: a file system has names of 255 bytes. Argument: the name.
short() {
  printf %.200s "$1"
}

# Changes to a new folder in the one that `enter` has entered: nobody else can enter it, so names in it stay as they are. What is made at
# $new gets its name by `settle`; $old is free. Their names are new, as another folder of root's may have been put there. Arguments: what is
# not done otherwise, the start of the folder's name.
stage() {
  held=/proc/self/fd/9
  umask 077
  staging=$(mktemp -d "./.$(short "$2").XXXXXX") || exit
  staging=${staging#./}
  trap 'rmdir "$held/$staging" 2>/dev/null' EXIT
  step_into "$staging" || refuse "$1" 'a folder in it was changed meanwhile'
  # shellcheck disable=SC2046
  set -- "$1" $(stat -c '%u %f %d' . "$held/.")
  [ "$2:$((0x$3 & 0777)):$4" = "0:$((0700)):$7" ] || refuse "$1" 'a folder in it was changed meanwhile'
  new=./$staging.new old=./$staging.old
  trap 'rm -rf "$new" "$old"; rmdir "$held/$staging" 2>/dev/null' EXIT
  trap 'exit 129' HUP INT TERM PIPE
}

# Argument: the name in the folder. A link there is replaced, not followed.
settle() {
  mv -f -T "$new" "$held/$1"
}
