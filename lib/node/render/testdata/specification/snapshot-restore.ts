import type { Differences } from './older.ts';
import type { Row } from './row.ts';

/** Spec part 2, "Snapshot recovery", step 4. */
export const snapshotRestore: readonly Row[] = [
  ['Log', 'Environment', 'string', 'production'],
  ['Log', 'Level', 'string', 'debug'],
  ['Log', 'Outputs', 'string list', ['stderr']],

  ['State.DB', 'User', 'string', '<STATE_DB_USER>'],
  ['State.DB', 'Password', 'string', '<STATE_DB_PASSWORD>'],
  ['State.DB', 'Name', 'string', '<STATE_DB_NAME>'],
  ['State.DB', 'Host', 'string', '{database host for the restore tool}'],
  ['State.DB', 'Port', 'string', '5432'],
  ['State.DB', 'EnableLog', 'boolean', false],
  ['State.DB', 'MaxConns', 'integer', 200],

  ['HashDB', 'User', 'string', '<PROVER_DB_USER>'],
  ['HashDB', 'Password', 'string', '<PROVER_DB_PASSWORD>'],
  ['HashDB', 'Name', 'string', '<PROVER_DB_NAME>'],
  ['HashDB', 'Host', 'string', '{database host for the restore tool}'],
  ['HashDB', 'Port', 'string', '5432'],
  ['HashDB', 'EnableLog', 'boolean', false],
  ['HashDB', 'MaxConns', 'integer', 200],
];

/** The same step, "in the older configuration". */
export const olderSnapshotRestore: Differences = {
  absent: [],
  renamed: { 'State.DB': 'StateDB' },
  changed: [],
  added: [],
};

/** The same step: the hosts file's line on the database host. */
export const hostsFile = { current: undefined, older: '127.0.0.1 state-db' } as const;

/** Step 2: names of the two archives. */
export const archiveNames = {
  main: { state: 'state_db.sql.tar.gz', prover: 'prover_db.sql.tar.gz' },
  test: { state: 'testnet_state_db.sql.tar.gz', prover: 'testnet_prover_db.sql.tar.gz' },
} as const;
