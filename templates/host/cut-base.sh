#!/bin/sh
# Functions that cut a base backup of Barman's into compressed pieces. The function as_barman is beside them, and cut-backup is in the folder
# of the program.

# Prints why a base backup was not cut. Argument: what cut_base has said
why_uncut() {
  case $1 in
    *'No space left on device'*) echo 'there is no room for its pieces: the disk became full' ;;
    *) printf '%s\n' "$1" | tail -n 1 ;;
  esac
}

# Cuts the base backup in the folder $1 where it is not cut. Only when all pieces are verified, its other copy is removed.
cut_base() {
  # Each is a step of its own, as a folder of barman's could be a link elsewhere for root.
  # shellcheck disable=SC2016 # it is for the shell of barman
  as_barman sh -euc '
    cd "$1"
    # The timer and a recovery may come to the same backup.
    exec 9<.
    flock 9
    [ -e base.tar.zst ] || exit 0
    # From the disk, not from memory.
    verify() (
      cd "$1" && for each in piece-*; do dd if="$each" iflag=nocache count=0 status=none || exit; done &&
        sha256sum --check --quiet --strict SHA256SUMS
    )
    # A run may have ended between the name of the pieces and their check, or have found them corrupt.
    if ! verify pieces >/dev/null 2>&1; then
      rm -rf pieces pieces.part
      size=$(stat -c %s base.tar.zst)
      free=$(df -B1 --output=avail . | tail -n 1)
      if [ "$size" -gt "$free" ]; then
        echo "there is no room in $1 for its pieces: they take $((size / 1000000)) MB, and $((free / 1000000)) MB are free" >&2
        exit 1
      fi
      trap "rm -rf pieces.part" EXIT
      trap "exit 1" TERM INT
      mkdir -m 0700 pieces.part
      zstd -dcq base.tar.zst | "$2/cut-backup" pieces.part backup_manifest
      (cd pieces.part && sha256sum piece-* >SHA256SUMS)
      sync -f pieces.part
      verify pieces.part
      mv pieces.part pieces
    fi
    sync -f .
    rm base.tar.zst' sh "$1" "$(dirname "$0")"
}
