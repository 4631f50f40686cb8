-- The hash store of the prover: a database of its own on the server of the state database.
-- The image runs this once, on an empty data directory, as the superuser.
CREATE DATABASE "{{ prover_db_name }}";
\connect "{{ prover_db_name }}"

CREATE SCHEMA state;

CREATE TABLE state.nodes (
  hash BYTEA PRIMARY KEY,
  data BYTEA NOT NULL
);

CREATE TABLE state.program (
  hash BYTEA PRIMARY KEY,
  data BYTEA NOT NULL
);

CREATE USER "{{ prover_db_user }}" WITH PASSWORD '{{ prover_db_password }}';
ALTER DATABASE "{{ prover_db_name }}" OWNER TO "{{ prover_db_user }}";
ALTER SCHEMA state OWNER TO "{{ prover_db_user }}";
ALTER SCHEMA public OWNER TO "{{ prover_db_user }}";
ALTER TABLE state.nodes OWNER TO "{{ prover_db_user }}";
ALTER TABLE state.program OWNER TO "{{ prover_db_user }}";
-- The prover creates a function without naming a schema: it has to land here.
ALTER USER "{{ prover_db_user }}" SET search_path TO state;
