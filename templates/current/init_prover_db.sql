-- The hash store of the prover: a database of its own on the server of the state database.
-- The image runs this once, on an empty data directory, as the superuser.
CREATE DATABASE "{{ credentials.prover.database }}";
\connect "{{ credentials.prover.database }}"

CREATE SCHEMA state;

CREATE TABLE state.nodes (
  hash BYTEA PRIMARY KEY,
  data BYTEA NOT NULL
);

CREATE TABLE state.program (
  hash BYTEA PRIMARY KEY,
  data BYTEA NOT NULL
);

CREATE USER "{{ credentials.prover.user }}" WITH PASSWORD '{{ credentials.prover.password }}';
ALTER DATABASE "{{ credentials.prover.database }}" OWNER TO "{{ credentials.prover.user }}";
ALTER SCHEMA state OWNER TO "{{ credentials.prover.user }}";
ALTER SCHEMA public OWNER TO "{{ credentials.prover.user }}";
ALTER TABLE state.nodes OWNER TO "{{ credentials.prover.user }}";
ALTER TABLE state.program OWNER TO "{{ credentials.prover.user }}";
-- The prover creates a function without naming a schema: it has to land here.
ALTER USER "{{ credentials.prover.user }}" SET search_path TO state;
