import type { Reader } from '../../engine/host/host.ts';
import type { Answer } from '../chain/chain.ts';
import { finalityDepth } from '../chain/layer1-history.ts';
import { stateDatabase } from '../databases/databases.ts';
import type { PhysicalSnapshot, Variables } from '../variables/variables.ts';
import { layer1Chains, layer2Chains } from './chains.ts';
import { findParting, type Numbered, type Parting } from './newest-common.ts';

/** What goes of layer 2: whole batches, as the node deletes them. Times are seconds since 1970. */
export interface Layer2Rewind extends Parting {
  /** The newest block that stays: the last one before the first batch that goes. */
  readonly left: Numbered;
  readonly newest: number;
  /** The first and the last batch that go, and how many of them layer 1 has already. */
  readonly firstBatch: number;
  readonly lastBatch: number;
  readonly virtual: number;
  /** When the first wrong block was made, and when the synchronizer wrote it. */
  readonly made: number;
  readonly written: number;
  /** The physical snapshot of the inventory, if it has all that goes. */
  readonly kept: PhysicalSnapshot | undefined;
}

/** What goes of layer 1. */
export interface Layer1Rewind extends Parting {
  readonly newest: number;
  /**
   * Rows of state.block that go. The database has only the blocks of layer 1 in which something
   * happened.
   */
  readonly blocks: number;
  readonly virtual: number;
  /** The first batch that refers to a forced batch of such a block. */
  readonly forced: number | undefined;
}

/** What the state database has and the other chains do not. */
export interface Rewind {
  readonly layer2: Layer2Rewind | undefined;
  readonly layer1: Layer1Rewind | undefined;
}

/**
 * Compares the state database with the trusted sequencer and with layer 1.
 *
 * @returns undefined where there is nothing to rewind
 */
export async function findRewind(host: Reader, vars: Variables): Promise<Answer<Rewind | undefined>> {
  const [two, one] = await Promise.all([
    findParting(layer2Chains(host, vars)),
    findParting(layer1Chains(host, vars)),
  ]);
  if (!two.ok) return two;
  if (!one.ok) return one;
  const [layer2, layer1] = await Promise.all([
    two.value ? layer2Of(host, vars, two.value) : nothing,
    one.value ? layer1Of(host, vars, one.value) : nothing,
  ]);
  if (!layer2.ok) return layer2;
  if (!layer1.ok) return layer1;
  const isAgreed = layer2.value === undefined && layer1.value === undefined;
  return { ok: true, value: isAgreed ? undefined : { layer2: layer2.value, layer1: layer1.value } };
}

const nothing = { ok: true, value: undefined } as const;

async function layer2Of(host: Reader, vars: Variables, parting: Parting): Promise<Answer<Layer2Rewind>> {
  const { block } = parting.wrong;
  const { physical } = vars.snapshot;
  const answer = await host.sql(
    stateDatabase(vars),
    `select w.batch_num, extract(epoch from w.received_at), extract(epoch from w.created_at), l.block_num, l.block_hash,
       (select max(block_num) from state.l2block), (select max(batch_num) from state.batch),
       (select count(*) from state.virtual_batch v where v.batch_num >= w.batch_num),
       (select block_hash from state.l2block where block_num = ${physical?.manifest.block ?? null})
     from state.l2block w left join lateral (select block_num, block_hash from state.l2block
       where block_num < w.block_num and batch_num < w.batch_num order by block_num desc limit 1) l on true
     where w.block_num = ${block}`,
  );
  if (!answer.ok) return answer;
  const [batch, made, written, left, hash, newest, lastBatch, virtual, ofSnapshot] = answer.rows[0] ?? [];
  if (batch === undefined) return { ok: false, error: `block ${block} is gone` };
  if (!left || !hash) {
    const error = `block ${block} is of the first batch of the state database, and no block would be left`;
    return { ok: false, error };
  }
  // It is of this chain, and was taken when the database was as high as now.
  const hasAll =
    physical && physical.manifest.block >= Number(newest) && physical.manifest.hash === ofSnapshot;
  return {
    ok: true,
    value: {
      ...parting,
      left: { block: Number(left), hash },
      newest: Number(newest),
      firstBatch: Number(batch),
      lastBatch: Number(lastBatch),
      virtual: Number(virtual),
      made: Number(made),
      written: Number(written),
      kept: hasAll ? physical : undefined,
    },
  };
}

/** A reorganization that the synchronizer undoes itself is left to it. */
async function layer1Of(
  host: Reader,
  vars: Variables,
  parting: Parting,
): Promise<Answer<Layer1Rewind | undefined>> {
  const { common } = parting;
  const answer = await host.sql(
    stateDatabase(vars),
    `select (select max(block_num) from state.block), (select count(*) from state.block where block_num > ${common}),
       (select count(*) from state.virtual_batch where block_num > ${common}),
       (select min(batch_num) from state.batch join state.forced_batch f using (forced_batch_num) where f.block_num > ${common})`,
  );
  if (!answer.ok) return answer;
  const [newest, blocks, virtual, forced] = answer.rows[0] ?? [];
  if (Number(newest) - parting.wrong.block < finalityDepth) return nothing;
  const counts = { newest: Number(newest), blocks: Number(blocks), virtual: Number(virtual) };
  return { ok: true, value: { ...parting, ...counts, forced: forced ? Number(forced) : undefined } };
}
