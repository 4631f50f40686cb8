import { command, type Step } from '../../engine/host/step.ts';
import { rewindSession } from '../chain/rewind-session.ts';
import { stateDatabase } from '../databases/databases.ts';
import { sqlLiteral } from '../databases/postgres.ts';
import type { Variables } from '../variables/variables.ts';
import type { Rewind } from './found.ts';
import type { Numbered } from './newest-common.ts';
import { recordStart } from './record.ts';

/**
 * The time limit of the deletion. The rows of a day take minutes. If the server ends meanwhile,
 * nothing is deleted. Seconds.
 */
const longest = 6 * 3600;

/** The step that deletes what goes. */
export function deletionOf(rewind: Rewind, vars: Variables): Step {
  const { container, user, database } = stateDatabase(vars);
  return command({
    timeoutSeconds: longest,
    failure: {
      what: 'nothing was deleted',
      hint: 'sync is stopped: run again. The next run starts it, and says so if PostgreSQL still deletes',
    },
  })`docker exec ${container} psql -XqAt -v ON_ERROR_STOP=1 -U ${user} -d ${database} -c ${deletion(rewind)}`;
}

/**
 * The node's own two statements, whose foreign keys cascade, in one transaction. It locks out
 * every writer and no reader. Each statement deletes only while the wrong block is still there: a
 * second run that waited for the first deletes nothing. As the node does, it notes the reset in
 * state.trusted_reorg. The server goes on when the client is killed, so the session has a name, and
 * a time limit of its own.
 */
function deletion({ layer1, layer2 }: Rewind): string {
  return [
    'begin',
    `set local application_name = ${sqlLiteral(rewindSession)}`,
    `set local statement_timeout = '${longest}s'`,
    "set local lock_timeout = '60s'",
    'lock table state.block, state.batch, state.l2block in share row exclusive mode',
    ...(layer2
      ? [
          `with gone as (delete from state.batch where batch_num > ${layer2.firstBatch - 1} and ${isThere('state.l2block', layer2.wrong)} returning batch_num)
  ${note('batch_num', `to block ${layer2.left.block}`)}`,
        ]
      : []),
    ...(layer1
      ? [
          `with gone as (delete from state.block where block_num > ${layer1.common} and ${isThere('state.block', layer1.wrong)} returning block_num)
  ${note('null', `to block ${layer1.common} of layer 1`)}`,
        ]
      : []),
    'commit',
  ].join(';\n');
}

function isThere(table: string, { block, hash }: Numbered): string {
  return `exists (select from ${table} where block_num = ${block} and block_hash = ${sqlLiteral(hash)})`;
}

/** Each row has a time of its own, as the time is the key of the table. */
function note(batch: string, what: string): string {
  const first = batch === 'null' ? 'null::bigint' : `min(${batch})`;
  return `insert into state.trusted_reorg (timestamp, batch_num, reason) select clock_timestamp(), ${first}, ${sqlLiteral(`${recordStart} ${what}`)} from gone having count(*) > 0`;
}
