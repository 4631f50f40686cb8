-- A replica in one row: whether it follows a server (1 or 0), and receives log from it; bytes that it has not replayed; age in seconds of
-- what it has replayed, 0 if that is all that it received; queries that it cancelled since its statistics began.
select pg_is_in_recovery()::int, (r.status is not distinct from 'streaming')::int,
  coalesce(greatest(0, pg_wal_lsn_diff(greatest(r.latest_end_lsn, pg_last_wal_receive_lsn()), pg_last_wal_replay_lsn())), 0),
  case when pg_last_wal_receive_lsn() is not distinct from pg_last_wal_replay_lsn() then 0
    else coalesce(round(extract(epoch from now() - pg_last_xact_replay_timestamp()), 3), 0) end,
  (select coalesce(sum(confl_tablespace + confl_lock + confl_snapshot + confl_bufferpin + confl_deadlock), 0) from pg_stat_database_conflicts)
from (select) one left join pg_stat_wal_receiver r on true
