import { quote } from '../../engine/host/quote.ts';
import { dropLeftovers } from './restore-outside.ts';
import type { Store, Stores } from './restored.ts';

/** The two parts of the restore script that differ by what restores. They use its functions and variables. */
export interface Way {
  /** What has to be so before a database is touched. */
  readonly before: string;
  /** Empties both databases, restores and checks them. */
  readonly restore: string;
}

/**
 * The tool at times skips the hash database and ends with 0 all the same, with a small archive about one time in five: so often it
 * is run at most.
 */
const attempts = 6;

/** The node's own tool. */
export function withNodeTool(command: string, configuration: string): Way {
  return {
    before: `command -v pg_restore >/dev/null || fail 'pg_restore is not installed, and the restore tool cannot do without: it would drop the database and restore nothing'`,
    restore: `attempt=1
while :; do
  empty_databases
  before=$(stat -c %s "$log")
  printf '== restore, attempt %s\\n' "$attempt" >>"$log"
  ${command} restore --cfg ${quote(configuration)} -is "$state_archive" -ih "$prover_archive" >>"$log" 2>&1
  code=$?
  told=$(tail -c "+$((before + 1))" "$log" | grep -ci 'snapshot success')
  check_state >"$log.check" 2>&1 || fail "the state database is not restored: $(reason "$log.check"). The tool ended with $code, its words are in $log"
  if check_prover >"$log.check" 2>&1; then
    [ "$told" -ge 2 ] && break
    why="it told of $told of 2 successes"
  else
    why="it skipped the hash database, or broke off in it: $(reason "$log.check")"
  fi
  [ "$attempt" -lt ${attempts} ] || fail "the restore tool failed ${attempts} times: $why. It ended with $code, its words are in $log"
  echo "the restore tool failed: $why. Once more"
  attempt=$((attempt + 1))
done`,
  };
}

/** What our own pg_restore calls itself at the server, so that what it left running there is known. */
const applicationName = 'rpc-node-restore';

/**
 * SQL that ends what a killed pg_restore of ours left at the server: whoever builds an index does not see that its client has gone,
 * and holds the table that is to be dropped.
 *
 * @param databases as SQL literals, with commas between
 */
export function leftoversEnd(databases: string): string {
  return `do $$ begin
  perform pg_terminate_backend(pid, 60000) from pg_stat_activity where datname in (${databases}) and application_name = '${applicationName}';
end $$;`;
}

/**
 * The host's own pg_restore, with the options of the node's tool. It reaches the server by its socket, as psql in the container does,
 * and so needs no password: the socket's folder is seen from the host below /proc, by its real path, for a symbolic link would lead
 * into the host's own files. The prover's tables are made by its user's role, and are its own.
 */
export function withPgRestore({
  jobs,
  state,
  prover,
  proverUser,
  snapshot,
}: Stores & {
  readonly jobs: number;
  readonly proverUser: string;
  /** Day of the snapshot. */
  readonly snapshot: string;
}): Way {
  // Whom a database publishes to, or subscribes to, is its server's own affair.
  const content = ['--no-owner', '--no-acl', '--no-publications', '--no-subscriptions', '--format=custom'];
  const words = [
    '--exit-on-error',
    ...content,
    '--no-password',
    ...(jobs > 1 ? [`--jobs=${jobs}`] : []),
    `--username=${state.target.user}`,
  ]
    .map(quote)
    .join(' ');
  const leftovers = (store: Store, on: string, archivePath: string) =>
    dropLeftovers(store, snapshot, on, { archivePath, options: content.map(quote).join(' ') });
  const container = quote(state.target.container);
  return {
    before: `command -v pg_restore >/dev/null || fail 'pg_restore is not installed: role client-tools installs it'
for archive in "$state_archive" "$prover_archive"; do
  LC_ALL=C pg_restore --list "$archive" >"$log.check" 2>&1 || fail "$archive cannot be restored: $(first_error "$log.check")"
  format=$(sed -n 's/^; *Format: *//p' "$log.check")
  [ "$format" = CUSTOM ] || fail "$archive is a dump in the format $format, and only the custom format can be restored by several jobs"
done`,
    restore: `socket=$(on_state <<'SQL'
select split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')
SQL
) || fail 'state-db does not answer'
port=\${socket#*|}
socket=$(docker exec ${container} readlink -f "\${socket%|*}") || fail "the socket of state-db is not found in its container"
socket=/proc/$(docker inspect --format '{{.State.Pid}}' ${container})/root$socket
[ -S "$socket/.s.PGSQL.$port" ] || fail "the socket of state-db is not found: $socket/.s.PGSQL.$port"
restore() {
  name=$1
  archive=$2
  shift 2
  printf '== pg_restore of the %s database\\n' "$name" >>"$log"
  LC_ALL=C PGAPPNAME=${applicationName} pg_restore ${words} --host="$socket" --port="$port" "$@" "$archive" </dev/null >"$log.check" 2>&1
  code=$?
  cat "$log.check" >>"$log"
  [ "$code" = 0 ] || fail "the $name database is not restored: $(first_error "$log.check"). pg_restore ended with $code, its words are in $log"
}

empty_databases
${leftovers(state, 'on_state', '"$state_archive"')}${leftovers(prover, 'on_prover', '"$prover_archive"')}restore state "$state_archive" ${quote(`--dbname=${state.target.database}`)}
check_state >"$log.check" 2>&1 || fail "the state database is not restored: $(reason "$log.check")"
restore prover "$prover_archive" ${quote(`--dbname=${prover.target.database}`)} ${quote(`--role=${proverUser}`)}
check_prover >"$log.check" 2>&1 || fail "the prover database is not restored: $(reason "$log.check")"`,
  };
}
