#!/bin/sh
# Prints the synchronizers of a host, one a line: `container NAME STATUS`, `process PID PROGRAM`, or `start PID` if Docker's
# client is about to start one. `engine` means that Docker exists and does not answer. Arguments: the name of the deployment's
# container, and whether it may run here: `own` or nothing. The node takes --components (-co) with or without `=`, several times or
# with commas, and runs all of its components without it.
container=$1
own=${2-}

# Reads the words of a command line, one a line: whether they run the node with its synchronizer.
synchronizes() {
  program='' part=program named='' found=1
  while IFS= read -r word || [ -n "$word" ]; do
    case $part in
      program)
        if [ "$word" = run ]; then
          part=options
          case $program in zkevm-node | cdk-validium-node) found=0 ;; esac
        fi
        program=${word##*/}
        ;;
      *)
        case $word in
          --components | -components | --co | -co) part=value ;;
          --components=* | -components=* | --co=* | -co=*)
            components "${word#*=}"
            part=value
            ;;
          -*) part=options ;;
          # The text that a shell runs may have blanks in its list.
          *) if [ "$part" = value ]; then components "$word"; fi ;;
        esac
        ;;
    esac
  done
  return "$found"
}

components() {
  [ -n "$named" ] || found=1
  named=1
  case $1 in *synchronizer*) found=0 ;; esac
}

# Likewise: whether they make Docker start the container. A killed run continues with the command that it had started there: it
# asks Compose for its version, and then starts the container. A check asks for the version with --short.
starts() {
  client='' verb='' name=''
  while IFS= read -r word || [ -n "$word" ]; do
    case ${word##*/} in docker | docker-compose) client=1 ;; esac
    case $word in
      --short) return 1 ;;
      up | start | restart | run) verb=1 ;;
      version) verb=1 name=1 ;;
      "$container") name=1 ;;
    esac
  done
  [ -n "$client" ] && [ -n "$verb" ] && [ -n "$name" ]
}

processes=''
for file in /proc/[0-9]*/cmdline; do
  line=''
  # Without the separators between the words, which is enough to skip nearly all processes.
  { IFS= read -r line <"$file"; } 2>/dev/null
  process=${file#/proc/}
  process=${process%/cmdline}
  case $line in
    *run*) if { tr '\0' '\n' <"$file"; } 2>/dev/null | synchronizes; then processes="$processes $process"; fi ;;
  esac
  case $line in
    *docker*"$container"* | *docker*compose*version)
      if [ "$own" != own ] && { tr '\0' '\n' <"$file"; } 2>/dev/null | starts; then echo "start $process"; fi
      ;;
  esac
done

# Docker shows the command of a container as a Go string: in quotes, with escapes.
if command -v docker >/dev/null 2>&1; then
  containers=$(docker ps --no-trunc --filter status=running --filter status=restarting --filter status=paused \
    --format '{{.ID}} {{.Names}} {{.State}} {{.Command}}' 2>/dev/null) ||
    echo engine
  for id in $(printf '%s\n' "$containers" | sed 's/ .*//'); do
    line=$(printf '%s\n' "$containers" | sed -n "s/^$id //p")
    # With the names of its links.
    name=${line%% *}
    case ,$name, in *,"$container",*) name=$container ;; esac
    line=${line#* }
    status=${line%% *}
    outside=''
    inside=''
    for process in $processes; do
      if grep -q "$id" "/proc/$process/cgroup" 2>/dev/null; then inside=1; else outside="$outside $process"; fi
    done
    processes=$outside
    if [ "$name" = "$container" ] && [ "$own" = own ]; then continue; fi
    if [ "$name" = "$container" ] || [ -n "$inside" ] ||
      printf '%s\n' "${line#* }" | sed 's/\\[nt]/ /g' | tr -s "\"'\\\\[:blank:]" '\n' | synchronizes; then
      echo "container $name $status"
    fi
  done
fi

for process in $processes; do
  program=''
  { IFS= read -r program <"/proc/$process/comm"; } 2>/dev/null
  # A process that has ended meanwhile no longer counts.
  [ -z "$program" ] || echo "process $process $program"
done
exit 0
