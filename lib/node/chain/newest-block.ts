import { readFileSync } from 'node:fs';
import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { probe, readHttpAnswer, shownAddress } from '../../engine/resource/network/http.ts';
import { type Answer, type Block, blockOfRow, readBlock } from './chain.ts';
import { longestAnswer, patience, readAnswer } from './json-rpc.ts';

const script = readFileSync(new URL('../../../templates/host/newest-block.sh', import.meta.url), 'utf8');

/** Of a request. Seconds. */
const limit = 6;

/**
 * Where the newest block is read: a JSON-RPC server on the host itself, or a database in a
 * container, by a query as `blockOfRow` reads it.
 */
export type BlockSource = { readonly url: string } | { readonly target: SqlTarget; readonly query: string };

/** A block here, and the block of its number elsewhere, undefined if it does not exist. */
export interface BlockPair {
  readonly here: Block;
  readonly there: Answer<Block | undefined>;
}

/**
 * Reads the newest block here and the block of its number elsewhere, in one request to the host.
 *
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
  const [from, length] = [end + 1, Number(output.bytes.toString('utf8', 0, end))];
  const first = output.bytes.subarray(from, from + length);
  const here =
    'url' in source
      ? readHttpBlock(first, output.stderr, source.url)
      : blockOfRow(first.length === 0 ? undefined : first.toString().split(' '));
  if (!here.ok || !here.value) return here.ok ? { ok: true, value: undefined } : here;
  const there = readHttpBlock(output.bytes.subarray(from + length + 1), output.stderr, url);
  return { ok: true, value: { here: here.value, there } };
}

function readHttpBlock(bytes: Buffer, stderr: string, url: string): Answer<Block | undefined> {
  const answer = readHttpAnswer(bytes, stderr);
  const shown = shownAddress(url);
  if (!answer.answered) return { ok: false, error: `${shown} does not answer: ${answer.why}` };
  return readBlock(readAnswer(answer.body.toString(), shown));
}

/** The arguments of `docker exec`. */
function queryWords({ target, query }: Exclude<BlockSource, { url: string }>): readonly string[] {
  const { container, user, database } = target;
  const options = ['-X', '-q', '-A', '-t', '-F', ' ', '-v', 'ON_ERROR_STOP=1'];
  return [container, 'psql', ...options, '-U', user, '-d', database, '-c', query];
}
