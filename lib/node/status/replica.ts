import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import type { Answer } from '../chain/chain.ts';
import { stateDatabase } from '../databases/databases.ts';
import type { Variables } from '../variables/variables.ts';
import { type Finding, fault, note } from './judge.ts';
import { count } from './words.ts';

const query = readFileSync(new URL('../../../templates/host/replica.sql', import.meta.url), 'utf8');

/** How a state database follows another one, as templates/host/replica.sql reads it. */
interface Following {
  /** Whether it follows a server; one that follows none accepts writes. */
  readonly follows: boolean;
  /** Whether it receives the log of that server now. */
  readonly receives: boolean;
  readonly bytesBehind: number;
  readonly secondsBehind: number;
  /** Queries that were cancelled, as they needed what the log removes. */
  readonly cancelled: number;
}

/** How a replica follows the database server; an error where its database does not answer. */
export type ReplicaState = Answer<Following>;

/** Reads how the state database of a host follows another one. */
export async function readReplica(host: Reader, vars: Variables): Promise<ReplicaState> {
  const answer = await host.sql(stateDatabase(vars), query);
  if (!answer.ok) return answer;
  const [follows, receives, bytesBehind = 0, secondsBehind = 0, cancelled = 0] = (answer.rows[0] ?? []).map(
    Number,
  );
  const value = { follows: follows === 1, receives: receives === 1, bytesBehind, secondsBehind, cancelled };
  return { ok: true, value };
}

/** What is wrong with a replica. Its lag in blocks is judged as that of every host. */
export function judgeReplica(replica: ReplicaState): Finding[] {
  // A database that does not answer has a finding already.
  if (!replica.ok) return [];
  const { follows, receives, cancelled } = replica.value;
  const many = `${count(cancelled)} ${cancelled === 1 ? 'query was' : 'queries were'} cancelled: what it read was cleaned up`;
  return [
    ...(follows ? [] : [fault('no-replica', 'state-db', 'follows no server, and accepts writes')]),
    ...(follows && !receives
      ? [
          fault(
            'not-receiving',
            'state-db',
            'receives nothing from the database server: see docker logs state-db',
          ),
        ]
      : []),
    ...(cancelled > 0 ? [note('cancelled', 'state-db', many, { cancelled })] : []),
  ];
}
