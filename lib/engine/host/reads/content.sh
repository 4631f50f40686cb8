# shellcheck shell=sh
# Sends files. Arguments: `HASH:SIZE` for each file, in one word, and the paths. A file with that SHA-256 is not sent, nor one of more
# bytes. HASH `-` and an empty SIZE match any. Prints the numbers of the files with that SHA-256, counted from 1, the numbers of the
# sent files, their output of `wc -c`, an empty line, and their contents.
wanted="$1 "
shift
newline='
'
hashes=
case $wanted in
  -:*) ;;
  *)
    # The open of a pipe would wait for a writer.
    hashes=$(
      for path do
        shift
        [ ! -f "$path" ] || set -- "$@" "$path"
      done
      [ $# = 0 ] || sha256sum -- "$@"
    )
    code=$?
    [ $code -lt 126 ] || exit $code
    ;;
esac
hashes=$newline$hashes$newline
count=$#
number=0
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
  [ -z "$largest" ] || [ "$(wc -c <"$path")" -le "$largest" ] || continue
  sent="$sent $number"
  set -- "$@" "$path"
done
shift "$count"
echo "$same"
echo "$sent"
[ $# = 0 ] && exit 0
wc -c -- "$@"
echo
cat -- "$@"
