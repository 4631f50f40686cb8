import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { probe, readHttpAnswer, shownAddress } from '../../engine/resource/network/http.ts';
import { type JsonRpcAnswer, longestAnswer, patience, readAnswer } from './json-rpc.ts';

const script = readFileSync(new URL('../../../templates/host/newest-logs.sh', import.meta.url), 'utf8');

/** For the height: a dead address must not hold up the rest. Seconds. */
const limit = 6;

/** A provider looks through many blocks. Seconds. */
const limitOfLogs = 10;

/** An address without logs: the answer is short. */
const nobody = `0x${'0'.repeat(39)}1`;

/**
 * Asks a JSON-RPC server for the logs of its newest blocks, in one request to the host. Whether
 * the server gives logs of so many blocks counts, and not what is in them.
 *
 * @param blocks in one question
 */
export async function askNewestLogs(host: Reader, url: string, blocks: number): Promise<JsonRpcAnswer> {
  // Two requests, one after the other.
  const output = await host.$({ timeoutSeconds: limit + limitOfLogs + 2 * (patience + 2) })`
    printf '%s\\n' ${url} | sh -c ${script} newest-logs ${probe} ${limit} ${limitOfLogs} ${longestAnswer} ${patience} ${blocks} ${nobody}`;
  const shown = shownAddress(url);
  const answer = readHttpAnswer(output.bytes, output.stderr);
  if (!answer.answered) return { ok: false, error: `${shown} does not answer: ${answer.why}` };
  // A host without curl and wget tries the connection only.
  if (answer.status === undefined) return { ok: true, result: undefined };
  const read = readAnswer(answer.body.toString(), shown);
  // Some providers repeat the address, with its key.
  if (!read.ok) return { ...read, error: read.error.replaceAll(url, shown) };
  if (Array.isArray(read.result)) return read;
  return { ok: false, error: `${shown} gives no logs of its newest blocks` };
}
