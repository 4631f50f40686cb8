import { readFileSync } from 'node:fs';
import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { probe, readHttpAnswer, shownAddress } from '../../engine/resource/network/http.ts';
import { excerpt } from '../../engine/secret/secret.ts';
import { type Answer, type Block, readBlock } from './chain.ts';
import { longestAnswer, patience, quantity, readAnswer } from './json-rpc.ts';

const script = readFileSync(new URL('../../../templates/host/newest-block.sh', import.meta.url), 'utf8');

/** Of a request. Seconds. */
const limit = 6;

/**
 * Where the newest block is read: a JSON-RPC server on the host itself, or a table of a database
 * in a container.
 */
export type BlockSource =
  | { readonly url: string }
  | { readonly target: SqlTarget; readonly table: string; readonly atMost?: string };

/** A block here, and the block of its number elsewhere, undefined if it does not exist. */
export interface BlockPair {
  readonly here: Pick<Block, 'block' | 'hash'>;
  readonly there: Answer<Block | undefined>;
}

/**
 * Reads the newest block here and the block of its number elsewhere, in one request to the host.
 *
 * @param source `atMost`: an SQL expression for the highest number that is considered
 * @param url of a JSON-RPC server elsewhere
 * @returns undefined if there is no block here; an error if the source does not answer
 */
export async function newestBlockPair(
  host: Reader,
  source: BlockSource,
  url: string,
): Promise<Answer<BlockPair | undefined>> {
  const words = 'url' in source ? [source.url] : queryWords(source);
  // Two requests, one after the other.
  const output = await host.$({ timeoutSeconds: patience + 2 * (limit + 2) })`
    printf '%s\\n' ${url} | sh -c ${script} newest-block ${probe} ${limit} ${longestAnswer} ${patience} ${words}`;
  const end = output.bytes.indexOf('\n');
  if (end < 0) return { ok: false, error: output.stderr.trim().split('\n').at(-1) || 'no answer' };
  const [first = '', hash = ''] = output.bytes.toString('utf8', 0, end).split(' ');
  if (first === '') return { ok: true, value: undefined };
  const block = quantity(first);
  if (block === undefined) return { ok: false, error: `no block number: ${excerpt(first, 80)}` };
  return {
    ok: true,
    value: { here: { block, hash }, there: readThere(output.bytes.subarray(end + 1), output.stderr, url) },
  };
}

function readThere(bytes: Buffer, stderr: string, url: string): BlockPair['there'] {
  const answer = readHttpAnswer(bytes, stderr);
  const shown = shownAddress(url);
  if (!answer.answered) return { ok: false, error: `${shown} does not answer: ${answer.why}` };
  return readBlock(readAnswer(answer.body.toString(), shown));
}

/** The arguments of `docker exec`. */
function queryWords({ target, table, atMost }: Exclude<BlockSource, { url: string }>): readonly string[] {
  const condition = atMost === undefined ? '' : `where block_num <= ${atMost} `;
  const query = `select '0x' || to_hex(block_num), block_hash from ${table} ${condition}order by block_num desc limit 1`;
  const { container, user, database } = target;
  const options = ['-X', '-q', '-A', '-t', '-F', ' ', '-v', 'ON_ERROR_STOP=1'];
  return [container, 'psql', ...options, '-U', user, '-d', database, '-c', query];
}
