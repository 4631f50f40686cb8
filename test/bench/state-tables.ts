/** With its indexes a part of the tables takes about 1.08 MB. */
export const partsInMegabyte = 0.93;

/**
 * Four tables like those of the state database, with keys, references and the specified indexes.
 */
export const made = (parts: number): string => `
create schema state;
create function pg_temp.hash(text) returns text language sql as $$ select '0x' || encode(sha256($1::bytea), 'hex') $$;
create table state.l2block (block_num bigint primary key, block_hash text not null, header jsonb, uncles jsonb, parent_hash text,
  state_root text, received_at timestamptz not null, created_at timestamptz not null);
insert into state.l2block select n, pg_temp.hash('b' || n), jsonb_build_object('number', n, 'stateRoot', pg_temp.hash('s' || n),
  'receiptsRoot', pg_temp.hash('r' || n), 'gasLimit', 30000000, 'timestamp', 1700000000 + 3 * n), '[]', pg_temp.hash('b' || (n - 1)),
  pg_temp.hash('s' || n), to_timestamp(1700000000 + 3 * n), to_timestamp(1700000000 + 3 * n) from generate_series(1, ${parts} * 250) n;
create table state.transaction (hash text primary key, encoded text, decoded jsonb, l2_block_num bigint references state.l2block);
insert into state.transaction select pg_temp.hash('t' || n), pg_temp.hash('e' || n) || pg_temp.hash('f' || n), jsonb_build_object(
  'nonce', n, 'to', pg_temp.hash('a' || n % 9999), 'input', pg_temp.hash('i' || n), 'r', pg_temp.hash('x' || n)),
  1 + n / 2 from generate_series(0, ${parts} * 500 - 1) n;
create table state.receipt (tx_hash text primary key references state.transaction, type int, status int, cumulative_gas_used bigint,
  gas_used bigint, block_num bigint references state.l2block, tx_index int, contract_address text);
insert into state.receipt select hash, 0, 1, 21000, 21000, l2_block_num, 0, pg_temp.hash('c' || l2_block_num) from state.transaction;
create table state.log (tx_hash text references state.transaction, log_index int, address text, data text, topic0 text, topic1 text,
  topic2 text, topic3 text, primary key (tx_hash, log_index));
insert into state.log select hash, 0, pg_temp.hash('a' || l2_block_num % 999), pg_temp.hash('d' || hash),
  pg_temp.hash('k' || l2_block_num % 99), pg_temp.hash('l' || hash), pg_temp.hash('m' || hash), null from state.transaction;
create index l2block_block_hash_idx on state.l2block (block_hash);
create index l2block_created_at_idx on state.l2block (created_at);
create index log_log_index_idx on state.log (log_index);
create index log_topic0_idx on state.log (topic0);
create index log_topic1_idx on state.log (topic1);
create index log_topic2_idx on state.log (topic2);
create index log_topic3_idx on state.log (topic3);
create index idx_receipt_tx_index on state.receipt (block_num, tx_index);
create index receipt_block_num_idx on state.receipt (block_num);`;
