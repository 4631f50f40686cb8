#!/bin/sh
# Builds the node's own restore tool from its source, whose Makefile puts the binary into dist/. The tool gets its name only when it is
# complete.
#
# Settings:
#   REPOSITORY, REF   git repository, and the tag or commit
#   SOURCE            folder for the source; what is there is removed
#   TOOL              path of the tool; its last part is the name of the binary in dist/
set -eu
export HOME=/root GIT_TERMINAL_PROMPT=0 PATH="/usr/local/go/bin:$PATH"

rm -rf "$SOURCE"
git clone --quiet --no-checkout -- "$REPOSITORY" "$SOURCE"
commit=$(git -C "$SOURCE" rev-parse --verify --quiet --end-of-options "$REF^{commit}") || {
  echo "there is no tag or commit $REF in $REPOSITORY" >&2
  exit 1
}
git -C "$SOURCE" checkout --quiet --detach "$commit"

# The node has github.com/fjl/memsize through go-ethereum. From Go 1.23 on the linker refuses it without -checklinkname=0, a flag that
# earlier linkers do not know. The node's Makefile adds its version to LDFLAGS by `+=`, so both are kept when the flag comes from the
# environment. An LDFLAGS on make's command line would replace the version, and GOFLAGS has no effect, as the Makefile gives -ldflags to
# go build. The source is asked because its go.mod may select another version of Go.
case $(cd "$SOURCE" && go tool link -h 2>&1) in
  *-checklinkname*) export LDFLAGS=-checklinkname=0 ;;
esac
# What Go downloads and keeps is for this build alone: root's home stays as it is. Go makes its modules read-only.
GOPATH=$SOURCE.go
export GOPATH GOMODCACHE="$GOPATH/pkg/mod" GOCACHE="$GOPATH/cache"
remove_go() { [ ! -e "$GOPATH" ] || { chmod -R u+w "$GOPATH" && rm -rf "$GOPATH"; }; }
remove_go
trap remove_go EXIT
make -C "$SOURCE" build

built=$SOURCE/dist/$(basename "$TOOL")
[ -x "$built" ] || {
  echo "the build made no dist/$(basename "$TOOL"), but: $(ls "$SOURCE/dist" 2>/dev/null)" >&2
  exit 1
}
mkdir -p "$(dirname "$TOOL")"
install -m 0755 "$built" "$TOOL.new"
mv -f "$TOOL.new" "$TOOL"
