import type { Reader } from '../../engine/host/host.ts';
import { excerpt } from '../../engine/secret/secret.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import { type JsonRpcAnswer, jsonRpc, quantity } from './json-rpc.ts';

/** A value, or why it is missing. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: string };

/** A block. Times are seconds since 1970. */
export interface Block {
  readonly block: number;
  readonly hash: string;
  readonly made: number;
  /** Its batch, where that was asked for. */
  readonly batch?: number | undefined;
  /** When the synchronizer wrote it into the state database; undefined for another source. */
  readonly written?: number | undefined;
}

/** `eth_blockNumber`: the installation check of spec part 1.7. */
export async function blockNumber(host: Reader, url: string): Promise<Answer<number>> {
  return askQuantity(host, url, 'eth_blockNumber', 'valid block number');
}

/** `zkevm_batchNumber`: the newest batch. */
export async function batchNumber(host: Reader, url: string): Promise<Answer<number>> {
  return askQuantity(host, url, 'zkevm_batchNumber', 'number');
}

/** A prover that is busy refuses a call at once. Milliseconds. */
const refusedAtOnce = 2000;

/**
 * Has json-rpc execute an `eth_call` of nothing, which its prover does. Blocks come from the state
 * database: json-rpc answers them also where its prover is away.
 *
 * @param tries a prover that is busy may refuse one call; a refusal that took its time is not tried again
 */
export async function executesCall(host: Reader, url: string, tries = 1): Promise<Answer<undefined>> {
  const asked = performance.now();
  const answer = await jsonRpc(host, url, 'eth_call', [{ to: `0x${'0'.repeat(40)}` }, 'latest']);
  if (answer.ok) return { ok: true, value: undefined };
  const wasQuick = performance.now() - asked < refusedAtOnce;
  if (answer.code !== undefined && wasQuick && tries > 1) return executesCall(host, url, tries - 1);
  return { ok: false, error: `eth_call, which the prover executes: ${answer.error}` };
}

async function askQuantity(host: Reader, url: string, method: string, what: string): Promise<Answer<number>> {
  const answer = await jsonRpc(host, url, method);
  if (!answer.ok) return answer;
  const value = quantity(answer.result);
  return value === undefined
    ? { ok: false, error: noResult(method, what, answer.result) }
    : { ok: true, value };
}

function noResult(method: string, what: string, result: unknown): string {
  let shown: string;
  try {
    shown = excerpt(JSON.stringify(result) ?? 'nothing', 80);
  } catch {
    shown = 'an answer nested too deeply';
  }
  return `${method} gives no ${what}: ${shown}`;
}

/** A block by its number; undefined where there is no such block. */
export async function blockAt(
  host: Reader,
  url: string,
  which: number | 'latest',
): Promise<Answer<Block | undefined>> {
  const name = which === 'latest' ? which : `0x${which.toString(16)}`;
  return readBlock(await jsonRpc(host, url, 'eth_getBlockByNumber', [name, false]));
}

/** The block in an answer to `eth_getBlockByNumber`; undefined where there is no such block. */
export function readBlock(answer: JsonRpcAnswer): Answer<Block | undefined> {
  if (!answer.ok) return answer;
  if (answer.result === null) return { ok: true, value: undefined };
  const { number, hash, timestamp } = fieldsOf(answer.result);
  const [block, made] = [quantity(number), quantity(timestamp)];
  if (block === undefined || made === undefined || typeof hash !== 'string') {
    return { ok: false, error: noResult('eth_getBlockByNumber', 'block', answer.result) };
  }
  return { ok: true, value: { block, hash, made } };
}

/**
 * The newest block of the state database that meets a condition, as `blockOfRow` reads it.
 *
 * @param condition in SQL
 */
export function blockQuery(condition = 'true'): string {
  const columns =
    'block_hash, block_num, extract(epoch from received_at), batch_num, extract(epoch from created_at)';
  return `select ${columns} from state.l2block where ${condition} order by block_num desc limit 1`;
}

/**
 * A block in a row of a database: hash, number, when it was made, its batch, when it was written.
 * Rows of another table may end before the batch.
 *
 * @param row undefined where the query found no row
 */
export function blockOfRow(row: readonly (string | null)[] | undefined): Answer<Block | undefined> {
  if (!row) return { ok: true, value: undefined };
  const [hash, ...numbers] = row;
  const [block, made = 0, batch, written] = numbers.map(Number);
  if (!hash?.startsWith('0x') || block === undefined || !Number.isSafeInteger(block)) {
    return { ok: false, error: `no block: ${excerpt(row.join(' '), 80)}` };
  }
  return { ok: true, value: { block, hash, made, batch, written } };
}
