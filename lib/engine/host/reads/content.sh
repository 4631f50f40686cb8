# shellcheck shell=sh
# Sends files. Arguments: `HASH:SIZE` for each file, in one word, and the paths. A file with that SHA-256 is not sent, nor one of more
# bytes. HASH `-` and an empty SIZE match any. Prints the numbers of the files with that SHA-256, counted from 1, the numbers of the
# sent files, their output of `wc -c`, an empty line, and their contents. It follows sums.sh.
wanted="$1 "
shift
newline='
'
hashes=
case $wanted in
  -:*) ;;
  *)
    hashes=$(sums "$@")
    code=$?
    [ $code -lt 126 ] || exit $code
    ;;
esac
hashes=$newline$hashes$newline
count=$#
number=0
ours=
copies=
failed=
same=
sent=
for path do
  number=$((number + 1))
  hash=${wanted%%:*}
  largest=${wanted#*:}
  largest=${largest%% *}
  wanted=${wanted#* }
  if [ "$hash" != - ]; then
    found="$hash  $path"
    # sha256sum begins a line with a backslash if the name has one, and doubles each in the name.
    case $path in *\\*) found="\\$hash  $(printf %s. "$path" | sed 's/\\/\\\\/g')" found=${found%.} ;; esac
    case $hashes in *"$newline$found$newline"*) same="$same $number" && continue ;; esac
  fi
  [ -f "$path" ] || continue
  [ -z "$largest" ] || [ "$(stat -L -c %s -- "$path")" -le "$largest" ] || continue
  sent="$sent $number"
  # These two folders are root's alone everywhere. The others are looked at once each.
  safe=
  case ${path%/*} in /etc | /proc/* | "$ours") [ -h "$path" ] || safe=1 ;; esac
  if [ -z "$safe" ]; then
    if (look_at_file "$path" && [ -z "$whose" ]); then
      [ -h "$path" ] || ours=${path%/*}
    else
      copy=$(mktemp /dev/shm/rpc-playbooks.XXXXXX 2>/dev/null) || copy=$(mktemp) || exit
      copies="$copies $copy"
      # By itself it is asked for again, and then says why.
      (look_at_file "$path" && [ "$whose" ] && print_held) >"$copy" || failed=1
      path=$copy
    fi
  fi
  set -- "$@" "$path"
done
shift "$count"
if [ -z "$failed" ]; then
  echo "$same"
  echo "$sent"
  [ $# = 0 ] || { wc -c -- "$@" && echo && cat -- "$@"; } || failed=1
fi
# shellcheck disable=SC2086 # names without spaces
[ -z "$copies" ] || rm -f -- $copies
[ -z "$failed" ]
