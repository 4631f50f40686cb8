import { isOurs, markStatement, type Store } from './restored.ts';

/** Catalogs that have a row for each thing that a dump may hold. */
const catalogs =
  'am cast class collation constraint conversion event_trigger extension foreign_data_wrapper foreign_server language largeobject_metadata namespace opclass operator opfamily policy proc publication rewrite statistic_ext subscription transform trigger ts_config ts_dict ts_parser ts_template type';
const things = catalogs
  .split(' ')
  .map((name) => `(select count(*) from pg_${name})`)
  .join(' + ');

/**
 * Shell that drops what an earlier restore of this archive left outside of the schema that is emptied: types, functions, large
 * objects and the like. It is dropped by the statements that pg_restore itself has for it, and only when nothing of it was there
 * before our first restore of the archive: that is looked at here, and then stands in the mark. What others have added stays, and
 * what they have built on ours keeps it from being dropped.
 *
 * Uses `fail`, `reason`, `log`, and a function that runs SQL; the schema has been emptied.
 */
export function dropLeftovers(
  { archive, target }: Store,
  snapshot: string,
  on: string,
  { archivePath, options }: { readonly archivePath: string; readonly options: string },
): string {
  return `# The statements stand at the beginning, before the first thing that is made.
drops=$(LC_ALL=C pg_restore ${options} --clean --if-exists --file=- ${archivePath} 2>/dev/null | sed -n '/^-- Name: /q; /^DROP /p; /^ALTER /p; /^SELECT pg_catalog\\.lo_unlink/p')
ours=$(${on} <<'SQL'
select ${isOurs(archive)}
SQL
) || fail 'state-db does not answer'
if [ "$ours" = t ]; then
  printf '%s\\n' 'set client_min_messages = error;' 'begin;' "$drops" 'commit;' | ${on} >"$log.check" 2>&1 || fail "what an interrupted restore left in ${target.database} could not be dropped: $(reason "$log.check")"
else
  none=$({
    printf '%s\\n' 'set client_min_messages = error;' 'begin;' "select set_config('rpc.things', (${things})::text, true);" "$drops"
    printf '%s\\n' "select current_setting('rpc.things') = (${things})::text;" 'rollback;'
  } | ${on} 2>/dev/null) && none=$(printf '%s\\n' "$none" | tail -n 1) || none=
  if [ "$none" = t ]; then
    ${on} <<'SQL' || fail 'a database could not be marked as being restored'
${markStatement('started', archive, snapshot, { ours: true })}
SQL
  fi
fi
`;
}
