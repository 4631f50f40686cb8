#!/bin/bash
# In place of docker: a container is a mount namespace with the volumes, in which programs run as the user postgres. The container state-db is
# the server of the file `source` beside this program: PGHOST and PGPORT. With a file `no-zstd` there, the image has no zstd.
base=$(dirname "$0")
export PATH=/usr/lib/postgresql/15/bin:$PATH
verb=$1
shift
case $verb in
  inspect) echo sha256:feed ;;
  image) printf '%s\n' registry.example:5000/own/postgres@sha256:feed sha256:feed ;;
  rm)
    data=$(sed -n 's/:.*//p;q' "$base/volumes" 2>/dev/null)
    if pid=$(head -n 1 "$data/postmaster.pid" 2>/dev/null); then
      kill -QUIT "$pid"
      while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    fi
    rm -f "$base/volumes" ;;
  run)
    volumes=()
    while [ $# -gt 0 ]; do
      case $1 in
        --entrypoint) entry=$2; shift 2 ;;
        --volume) volumes+=("$2"); shift 2 ;;
        --user | --network | --name) shift 2 ;;
        --*) shift ;;
        *) break ;;
      esac
    done
    # Those that `image` and `inspect` name, and that of the inventory.
    case $1 in
      sha256:feed | registry.example:5000/own/postgres@sha256:feed | postgres:15) ;;
      *) echo "Unable to find image '$1' locally" >&2; exit 125 ;;
    esac
    if [ "$entry" = chown ]; then
      all=
      case " $* " in *' -R '*) all=-R ;; esac
      chown $all postgres:postgres "${volumes[@]%%:*}"
    else
      printf '%s\n' "${volumes[@]}" >"$base/volumes"
    fi ;;
  exec)
    while :; do
      case $1 in --env) export "${2?}"; shift 2 ;; -i) shift ;; *) break ;; esac
    done
    name=$1
    shift
    if [ "$name" = state-db ]; then
      . "$base/source"
      exec "$@"
    fi
    [ ! -e "$base/no-zstd" ] || export HIDDEN=/usr/bin/zstd
    VOLUMES=$(cat "$base/volumes") exec unshare --mount bash -c '
      [ -z "${HIDDEN:-}" ] || mount --bind /dev/null "$HIDDEN" || exit
      mkdir -p /copy && mount -t tmpfs tmpfs /copy || exit
      while IFS=: read -r from to how; do
        mkdir "$to" && mount -o "bind${how:+,$how}" "$from" "$to" || exit
      done <<<"$VOLUMES"
      cd / && exec setpriv --reuid=postgres --regid=postgres --init-groups "$@"' bash "$@" ;;
esac
