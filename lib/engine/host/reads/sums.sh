# shellcheck shell=sh disable=SC2154
# Prints what sha256sum prints of files. Arguments: their paths. It follows held-content.sh. What is no file is left out: the open of a
# pipe would wait for a writer. Another user can put one in place of a file at the last moment. So who that may be is asked where the sums
# take long, and such a file is opened without a wait.
sums() (
  for path do
    shift
    [ ! -f "$path" ] || set -- "$@" "$path"
  done
  [ $# != 0 ] || exit 0
  found=$(timeout 5 sha256sum -- "$@")
  code=$?
  # 143 is of busybox.
  case $code in
    124 | 143) ;;
    *) printf '%s\n' "$found" && exit $code ;;
  esac
  for path do
    shift
    [ -f "$path" ] || continue
    if (look_at_file "$path" && [ -z "$whose" ]) 2>/dev/null; then
      set -- "$@" "$path"
      continue
    fi
    found=$({ { (look_at_file "$path" && [ "$whose" ] && print_held) || echo failed >&3; } | sha256sum; } 3>&1)
    case $found in *failed*) continue ;; esac
    # As sha256sum writes a name with a backslash.
    case $path in *\\*) found="\\$found" path=$(printf %s. "$path" | sed 's/\\/\\\\/g') path=${path%.} ;; esac
    printf '%s  %s\n' "${found%% *}" "$path"
  done
  [ $# = 0 ] || sha256sum -- "$@"
)
