# shellcheck shell=sh
# Prints the kind of container that this host is, or nothing.
if command -v systemd-detect-virt >/dev/null; then
  systemd-detect-virt --container
elif [ -e /.dockerenv ]; then
  echo docker
elif [ -e /run/.containerenv ]; then
  echo podman
else
  tr '\0' '\n' </proc/1/environ 2>/dev/null | sed -n 's/^container=//p'
fi
