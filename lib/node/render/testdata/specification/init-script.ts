/** Spec part 2, "Prover database init script", step by step; names without their quotes. */
export const initScript: readonly string[] = [
  // 1. A database for the prover, and connect to it.
  'CREATE DATABASE <PROVER_DB_NAME>',
  '\\connect <PROVER_DB_NAME>',
  // 2. Schema state.
  'CREATE SCHEMA state',
  // 3. Tables with a binary primary key and required binary data.
  'CREATE TABLE state.nodes ( hash BYTEA PRIMARY KEY, data BYTEA NOT NULL )',
  'CREATE TABLE state.program ( hash BYTEA PRIMARY KEY, data BYTEA NOT NULL )',
  // 4. The user, owner of all these, with its search path.
  "CREATE USER <PROVER_DB_USER> WITH PASSWORD '<PROVER_DB_PASSWORD>'",
  'ALTER DATABASE <PROVER_DB_NAME> OWNER TO <PROVER_DB_USER>',
  'ALTER SCHEMA state OWNER TO <PROVER_DB_USER>',
  'ALTER SCHEMA public OWNER TO <PROVER_DB_USER>',
  'ALTER TABLE state.nodes OWNER TO <PROVER_DB_USER>',
  'ALTER TABLE state.program OWNER TO <PROVER_DB_USER>',
  'ALTER USER <PROVER_DB_USER> SET search_path TO state',
];
