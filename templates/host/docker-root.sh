#!/bin/sh
# Functions that say where the Docker engine has its data, and with which options it was started or will be. Scripts that call them are
# sent with this file before them.

# Prints the words of the engine's command line, and of the one in its unit with variables from the unit and its files.
dockerd_words() (
  pid=$(systemctl show --property MainPID --value docker.service)
  tr '\0' '\n' 2>/dev/null <"/proc/$pid/cmdline"
  unit=$(systemctl show --property ExecStart --value docker.service)
  case $unit in
    *'$'*)
      unit="$unit $(systemctl show --property Environment --value docker.service)"
      for file in $(systemctl show --property EnvironmentFiles --value docker.service | sed 's/ (ignore_errors=.*//'); do
        unit="$unit $(sed '/^ *#/d' "$file" 2>/dev/null)"
      done
      ;;
  esac
  printf '%s\n' "$unit" | sed "s/[\"' ]/\\n/g" | sed 's/^[A-Za-z_][A-Za-z_0-9]*=//'
)

# Prints the value of the first of these options: --name=value, or the word after it.
dockerd_option() {
  dockerd_words | awk -v names=" $* " '
    wanted { print; exit }
    { name = $0; sub(/=.*/, "", name) }
    index($0, "=") && index(names, " " name " ") { sub(/^[^=]*=/, ""); print; exit }
    index(names, " " $0 " ") { wanted = 1 }'
}

# Prints the value of a setting that is one word, by its option or by the file of settings. Argument: its name.
dockerd_setting() (
  option=$(dockerd_option "--$1")
  file=$(dockerd_option --config-file)
  if [ "$option" ]; then echo "$option"; exit; fi
  sed -n "s/.*\"$1\"[ ]*:[ ]*\"\{0,1\}\([^\",} ]*\).*/\1/p" "${file:-/etc/docker/daemon.json}" 2>/dev/null
)

# Prints the folder of Docker's data: of the running engine, or as its options and settings have it.
docker_root() (
  if systemctl is-active --quiet docker.service; then
    # An engine that hangs holds up nobody for longer.
    if command -v curl >/dev/null; then
      root=$(curl -s -m 5 --unix-socket /run/docker.sock http://docker/info | sed -n 's/.*"DockerRootDir":"\([^"]*\)".*/\1/p')
    else
      # A client that reaches no engine prints an empty line.
      root=$(timeout 5 docker info --format '{{.DockerRootDir}}' 2>/dev/null)
    fi
    case $root in /*) echo "$root"; exit ;; esac
  fi
  file=$(dockerd_option --config-file)
  setting=$(sed -n 's/.*"data-root"[ ]*:[ ]*"\([^"]*\)".*/\1/p' "${file:-/etc/docker/daemon.json}" 2>/dev/null)
  option=$(dockerd_option --data-root --graph -g)
  # The engine itself follows links.
  readlink -m "${option:-${setting:-/var/lib/docker}}"
)
