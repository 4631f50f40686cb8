import type { Reader } from '../../engine/host/host.ts';
import { askHttp, shownAddress } from '../../engine/resource/network/http.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { excerpt } from '../../engine/secret/secret.ts';
import type { Answer } from './chain.ts';
import { jsonRpcRequest, longestAnswer, patience, quantity, readAnswer } from './json-rpc.ts';

/**
 * An address that answers at all does so quickly, and a dead one must not hold up the rest.
 * Seconds.
 */
const answerLimit = 6;

/** Of a file of some megabytes. Seconds. */
const downloadLimit = 30;

/** Whether something can be downloaded from there, from the host. */
export async function downloads(host: Reader, url: string): Promise<Verdict> {
  return ask(host, url, (status) => status >= 200 && status < 300);
}

/**
 * Downloads a small file, from the host.
 *
 * @param length of what is read of it. Bytes
 * @returns undefined from a host that can only try the connection
 */
export async function askDownload(
  host: Reader,
  url: string,
  length: number,
): Promise<Answer<Buffer | undefined>> {
  const answer = await askHttp(host, url, { length, seconds: downloadLimit });
  if (!answer.answered) return { ok: false, error: `${shownAddress(url)} does not answer: ${answer.why}` };
  const { status, body } = answer;
  if (status === undefined) return { ok: true, value: undefined };
  if (status >= 200 && status < 300) return { ok: true, value: body };
  return { ok: false, error: `${shownAddress(url)} answers HTTP ${status}` };
}

/**
 * Whether a registry of images answers: one that wants to know who asks does as well.
 *
 * @param certificates the engine's folder for this registry
 */
export async function registryAnswers(host: Reader, url: string, certificates: string): Promise<Verdict> {
  return ask(host, url, (status) => status === 200 || status === 401, certificates);
}

/**
 * What a chain's JSON-RPC says of itself: its id, or undefined from a host that can only try the
 * connection.
 */
export type ChainId = Answer<number | undefined>;

/** Asks the JSON-RPC of a chain for the id of the chain, from the host. */
export async function askChainId(host: Reader, url: string): Promise<ChainId> {
  const shown = shownAddress(url);
  const answer = await askHttp(host, url, {
    json: jsonRpcRequest('eth_chainId'),
    length: longestAnswer,
    seconds: answerLimit,
    // Other questions of the same check go to the same server at the same time.
    patience,
  });
  if (!answer.answered) return { ok: false, error: `${shown} does not answer: ${answer.why}` };
  if (answer.status === undefined) return { ok: true, value: undefined };
  if (answer.status !== 200) return { ok: false, error: `${shown} answers HTTP ${answer.status}` };
  const read = readAnswer(answer.body.toString(), shown);
  if (!read.ok) return read;
  const value = quantity(read.result);
  if (value !== undefined) return { ok: true, value };
  return {
    ok: false,
    error: `${shown} gives no chain id: ${excerpt(JSON.stringify(read.result) ?? '', 80)}`,
  };
}

/**
 * Whether the JSON-RPC at an address is of the chain with an id.
 *
 * @param chainId undefined if any chain is accepted
 */
export function isOfChain(url: string, answer: ChainId, chainId: number | undefined): Verdict {
  if (!answer.ok) return drift(answer.error);
  const { value: id } = answer;
  if (id === undefined || chainId === undefined || id === chainId) return ok;
  return drift(
    `${shownAddress(url)} is of the chain with id ${id}, and has to be of the one with id ${chainId}`,
  );
}

/** A host without curl and wget tries the connection only. */
async function ask(
  host: Reader,
  url: string,
  isRight: (status: number) => boolean,
  certificates = '',
): Promise<Verdict> {
  const answer = await askHttp(host, url, { seconds: answerLimit, certificates });
  if (!answer.answered) return drift(`${shownAddress(url)} does not answer: ${answer.why}`);
  const { status } = answer;
  return status === undefined || isRight(status) ? ok : drift(`${shownAddress(url)} answers HTTP ${status}`);
}
