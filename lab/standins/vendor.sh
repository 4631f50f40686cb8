#!/bin/sh
# Makes vendor/ of the Go module in the current directory from Debian's packaged libraries, so that a build needs no module
# proxy: neither this image's build nor, later, a build from a clone of the node's source.
#
# Takes the packages that the module imports, one per argument, each as MODULE@VERSION[/SUBPACKAGE...]:
#   vendor.sh github.com/lib/pq@v1.10.7 github.com/lib/pq@v1.10.7/oid
set -eu
source=/usr/share/gocode/src
rm -rf vendor
mkdir vendor
previous=
for package in "$@"; do
  module=${package%%@*}
  rest=${package#*@}
  version=${rest%%/*}
  path=$module${rest#"$version"}
  if [ "$module" != "$previous" ]; then
    language=$(sed -n 's/^go //p' "$source/$module/go.mod")
    printf '# %s %s\n## explicit; go %s\n' "$module" "$version" "${language:-1.17}" >> vendor/modules.txt
    previous=$module
  fi
  echo "$path" >> vendor/modules.txt
  mkdir -p "vendor/$path"
  for file in "$source/$path"/*.go; do
    case $file in *_test.go) ;; *) cp "$file" "vendor/$path/" ;; esac
  done
done
