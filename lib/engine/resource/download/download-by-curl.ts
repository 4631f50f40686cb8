/** How the script of a download fetches: pieces of POSIX shell, each with its line ends. */
export interface Fetching {
  readonly functions: string;
  /** What has to be installed besides curl. */
  readonly needs: string;
  /** Stands before the address and version of what a part is of, so that no other program goes on with the part. */
  readonly mark: string;
  /** Drops a part that cannot be continued; sets `held` to how many bytes are here, and `continued` where anything is. */
  readonly begin: string;
  /** Makes the part whole, or fails. */
  readonly fetch: string;
}

/** One connection, which begins where the part ends. */
export const byCurl: Fetching = {
  functions: `# What keeps more from being written there, in the system's words.
hindrance() { LC_ALL=C dd if=/dev/zero of="$part.probe" bs=64k count=16 2>&1 >/dev/null | sed -n 's/^dd: .*: //p'; rm -f "$part.probe"; }
`,
  needs: '',
  mark: '',
  begin: `held=$(size_of "$part")
if [ "$held" -gt 0 ]; then continued=yes; fi
`,
  fetch: `tries=0
most=$held
while :; do
  have=$(size_of "$part")
  if [ -n "$total" ] && [ "$have" -ge "$total" ]; then break; fi
  http=$(ask --show-error --speed-limit 1 --speed-time 120 --continue-at - --dump-header "$status.headers" --output "$part" --write-out '%{http_code}')
  code=$?
  [ "$code" -eq 0 ] && break
  # A part that is complete already, where the server did not tell its length.
  [ -z "$total" ] && [ "$have" -gt 0 ] && [ "$http" = 416 ] && break
  # The server cannot continue a download.
  if [ "$code" -eq 33 ] || [ "$code" -eq 36 ]; then rm -f "$part"; fi
  if [ "$code" -eq 23 ]; then
    why=$(hindrance)
    case $why in
      'No space left on device' | 'Disk quota exceeded')
        fail "not enough room in $directory for $shown: it is full at $(size_of "$part") of \${total:-an unknown number of} bytes" ;;
      ?*) fail "$part cannot be written: $why" ;;
    esac
  fi
  case $http in
    408 | 416 | 429) ;;
    4*) fail "$shown answers $http" ;;
  esac
  # What was here before, and is fetched again, gets nobody further.
  have=$(size_of "$part")
  if [ "$have" -gt "$most" ]; then most=$have; tries=0; fi
  tries=$((tries + 1))
  [ "$tries" -lt 10 ] || fail "$shown breaks off at $most of \${total:-an unknown number of} bytes (curl exit code $code, HTTP $http)"
  pause
done
`,
};
