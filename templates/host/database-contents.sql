-- What a database holds of a snapshot: our mark in the comment on it (JSON), the main table's object id and size, the size of
-- all tables that a restore would drop, and how many transactions wrote the main table's first and last rows. It also works where
-- nothing was restored, so it cannot name the main table, :'table', in a FROM clause.
--
-- The other tables count only where the main table is empty: while a restore creates an index, its table is locked. The rows are read
-- from the first and the last page, as a whole table takes long.
select
  (select substr(line, length('rpc-playbooks: ') + 1) from regexp_split_to_table(
    shobj_description((select oid from pg_database where datname = current_database()), 'pg_database'), E'\n') line
   where starts_with(line, 'rpc-playbooks: ') limit 1),
  t.id::oid,
  t.size,
  case when t.size > 0 then t.size
    else (select coalesce(sum(pg_relation_size(oid)), 0) from pg_class
      where relkind in ('r', 'm') and relnamespace = to_regnamespace('state')) end,
  case when t.size > 0 then (xpath('/row/writers/text()', query_to_xml(
    format('select count(distinct x) as writers from (
        select xmin::text as x from %1$s where ctid < ''(1,0)''
        union all select xmin::text from %1$s where ctid >= ''(%2$s,0)'') rows',
      t.id, t.size / current_setting('block_size')::int - 1), false, true, '')))[1]::text
    else '0' end
from (select id, coalesce(pg_relation_size(id), 0) as size from to_regclass(:'table') id) t
