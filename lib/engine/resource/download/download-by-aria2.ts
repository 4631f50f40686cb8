import type { Fetching } from './download-by-curl.ts';

/** After so long without a byte on one connection it is made anew; on all of them, that was one try. Seconds. */
const quiet = { connection: 60, all: 120 };

/**
 * Several connections, each for a part of its own. aria2 keeps in PATH.part.aria2 which parts are here, from before the first byte until
 * the file is whole; so while that is there the length of PATH.part means nothing, and a part without it is worth nothing unless it has
 * its full length, as when it was not verified any more.
 */
export function byAria2(connections: number): Fetching {
  return {
    functions: `# Without the holes in it.
held_of() { if [ -e "$1" ]; then echo $(($(stat -c '%b * %B' "$1"))); else echo 0; fi; }

# Sets code, and http and why where aria2 tells them. Its words for people are all that it says on the way: a line a second, which
# it would keep back until there are many.
fetch() {
  rm -f "$status.http" "$status.why"
  {
    stdbuf -oL aria2c --no-conf=true --no-netrc=true --enable-rpc=false --enable-dht=false --enable-dht6=false --follow-torrent=false \\
      --follow-metalink=false --parameterized-uri=false --async-dns=false --remote-time=false --auto-file-renaming=false \\
      --allow-overwrite=false --always-resume=true --file-allocation=none --auto-save-interval=1 --piece-length=1M \\
      --min-split-size=1M --split=${connections} --max-connection-per-server=${connections} --connect-timeout=30 --timeout=${quiet.connection} \\
      --max-tries=20 --retry-wait=1 --show-console-readout=true --human-readable=false --summary-interval=0 --enable-color=false \\
      --console-log-level=error --download-result=hide --dir="$directory" --input-file=- <<END 2>&1 &
$url
  out=\${part##*/}
END
    echo $! >"$status.pid"
    wait $!
    echo $? >"$status.code"
  } | {
    done=0
    seconds=0
    while IFS= read -r line; do
      case $line in
        '[#'*' '*B/*)
          now=\${line#* }
          now=\${now%%B/*}
          case $now in '' | *[!0-9]*) continue ;; esac
          seconds=$((seconds + 1))
          if [ "$now" != "$done" ]; then done=$now; seconds=0; say downloading "$total" "$done"; fi
          if [ "$seconds" -ge ${quiet.all} ]; then kill "$(cat "$status.pid")" 2>/dev/null; fi
          ;;
        *'[HttpSkipResponseCommand.cc:'*'] errorCode='*' The response status is not successful. status='[0-9][0-9][0-9]) printf '%s\\n' "\${line##*=}" >"$status.http" ;;
        *'[HttpSkipResponseCommand.cc:'*'] errorCode=3 Resource not found') echo 404 >"$status.http" ;;
        *'[HttpSkipResponseCommand.cc:'*'] errorCode=24 Authorization failed.') echo 401 >"$status.http" ;;
        *'[DefaultBtProgressInfoFile.cc:'*) echo control >"$status.why" ;;
      esac
      case $line in *'] errorCode='*' URI='*) ;; *'] errorCode='*) told=\${line#*errorCode=* }; printf 'aria2c: %s\\n' "\${told%%\\?*}" >&2 ;; esac
    done
  }
  code=$(cat "$status.code" 2>/dev/null || echo 1)
  http=$(cat "$status.http" 2>/dev/null)
  why=$(cat "$status.why" 2>/dev/null)
  rm -f "$status.pid" "$status.code" "$status.http" "$status.why"
}

`,
    needs: `command -v aria2c >/dev/null || fail 'aria2c is not installed'
`,
    mark: 'aria2 ',
    begin: `[ -e "$part.aria2" ] || [ "$(size_of "$part")" = "$total" ] || rm -f "$part"
[ -e "$part" ] || rm -f "$part.aria2"
held=$(held_of "$part")
if [ -e "$part" ]; then continued=yes; fi
`,
    fetch: `tries=0
most=$held
refused=0
while [ ! -e "$part" ] || [ -e "$part.aria2" ]; do
  fetch
  if [ "$code" -eq 0 ] && [ -e "$part" ] && [ ! -e "$part.aria2" ]; then break; fi
  have=$(held_of "$part")
  if [ "$have" -gt "$most" ]; then
    most=$have
    tries=0
    refused=0
  else
    case $http in
      408 | 416 | 429) ;;
      4*) fail "$shown answers $http" ;;
    esac
    if [ "$code" -eq 8 ]; then refused=$((refused + 1)); fi
  fi
  [ "$code" -ne 9 ] || fail "not enough room in $directory for $shown: it is full at $have of \${total:-an unknown number of} bytes"
  # What is noted of the parts cannot be read, or is of another file; or the server cannot continue a download.
  if [ "$why" = control ] || [ "$refused" -gt 1 ]; then
    rm -f "$part" "$part.aria2"
    refused=0
  fi
  # Without a note a part cannot be continued.
  [ -e "$part.aria2" ] || rm -f "$part"
  tries=$((tries + 1))
  [ "$tries" -lt 10 ] || fail "$shown breaks off at $have of \${total:-an unknown number of} bytes (aria2c exit code $code\${http:+, HTTP $http})"
  # It does not tell what it was answered.
  case $http in 429 | 503) ask --no-fail --head --max-time 60 >"$status.headers" ;; esac
  pause
done
`,
  };
}
