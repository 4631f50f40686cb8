import type { Reader } from '../../engine/host/host.ts';
import { jsonRpc } from './json-rpc.ts';

/** The newest block as a JSON-RPC server has it. */
export interface NewestBlock {
  readonly number: number;
  /** When it was made, less than now by the host's own clock. Seconds. */
  readonly age: number;
}

/** What was asked for, or why it could not be had, in words. */
export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: string };

/**
 * A quantity as JSON-RPC writes it: 0x and hexadecimal digits without leading zeros.
 *
 * @returns undefined when it is none
 */
export function quantity(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^0x(0|[1-9a-f][0-9a-f]*)$/i.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}

/** `eth_blockNumber`: the installation check of spec part 1.7. */
export async function blockNumber(host: Reader, url: string): Promise<Answer<number>> {
  return askQuantity(host, url, 'eth_blockNumber', 'valid block number');
}

async function askQuantity(host: Reader, url: string, method: string, what = 'number'): Promise<Answer<number>> {
  const answer = await jsonRpc(host, url, method);
  if (!answer.ok) return answer;
  const number = quantity(answer.result);
  if (number !== undefined) return { ok: true, value: number };
  return { ok: false, error: `${method} gives no ${what}: ${beginningOf(answer.result)}` };
}

/** The beginning of what was answered, whatever that is. */
function beginningOf(answer: unknown): string {
  try {
    return (JSON.stringify(answer) ?? 'nothing').slice(0, 80);
  } catch {
    return 'an answer nested too deeply';
  }
}

/** A block by its number, with its hash and when it was made (seconds since 1970); undefined where there is none. */
export async function blockAt(
  host: Reader,
  url: string,
  which: number | 'latest',
): Promise<Answer<{ readonly number: number; readonly hash: string; readonly time: number } | undefined>> {
  const name = which === 'latest' ? which : `0x${which.toString(16)}`;
  const answer = await jsonRpc(host, url, 'eth_getBlockByNumber', [name, false]);
  if (!answer.ok) return answer;
  if (answer.result === null) return { ok: true, value: undefined };
  const { number, hash, timestamp } = Object(answer.result) as Record<string, unknown>;
  const [block, time] = [quantity(number), quantity(timestamp)];
  if (block === undefined || time === undefined || typeof hash !== 'string') {
    return { ok: false, error: `eth_getBlockByNumber gives no block: ${beginningOf(answer.result)}` };
  }
  return { ok: true, value: { number: block, hash, time } };
}

/** `zkevm_batchNumber`: the newest batch. */
export async function batchNumber(host: Reader, url: string): Promise<Answer<number>> {
  return askQuantity(host, url, 'zkevm_batchNumber');
}

/** The newest block's number and age. */
export async function newestBlock(host: Reader, url: string): Promise<Answer<NewestBlock>> {
  const [answer, clock] = await Promise.all([
    jsonRpc(host, url, 'eth_getBlockByNumber', ['latest', false]),
    host.$`date +%s`,
  ]);
  if (!answer.ok) return answer;
  return readBlock(answer.result, Number(clock.text()));
}

/** @param now the host's clock, seconds since 1970 */
export function readBlock(result: unknown, now: number): Answer<NewestBlock> {
  const { number, timestamp } = (typeof result === 'object' && result !== null ? result : {}) as Record<
    string,
    unknown
  >;
  const [block, made] = [quantity(number), quantity(timestamp)];
  if (block === undefined || made === undefined) return { ok: false, error: 'eth_getBlockByNumber gives no block' };
  return { ok: true, value: { number: block, age: now - made } };
}
