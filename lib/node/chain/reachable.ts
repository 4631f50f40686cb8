import type { Reader } from '../../engine/host/host.ts';
import { askHttp } from '../../engine/resource/network/http.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { jsonRpcRequest, longestAnswer, quantity, readAnswer } from './json-rpc.ts';

/** An address that answers at all does so quickly, and a dead one must not hold up the rest. Seconds. */
const answerLimit = 6;

/** Whether something can be downloaded from there, from the host. */
export async function downloads(host: Reader, url: string): Promise<Verdict> {
  const answer = await askHttp(host, url, { seconds: answerLimit });
  if (!answer.answered) return notReached(url, answer.why);
  const { status } = answer;
  return status === undefined || (status >= 200 && status < 300) ? ok : answersStatus(url, status);
}

/** Whether a registry of images answers: one that wants to know who asks does as well. */
export async function registryAnswers(host: Reader, url: string): Promise<Verdict> {
  const answer = await askHttp(host, url, { seconds: answerLimit });
  if (!answer.answered) return notReached(url, answer.why);
  const { status } = answer;
  return status === undefined || status === 200 || status === 401 ? ok : answersStatus(url, status);
}

/**
 * Whether a chain's JSON-RPC answers there, from the host, and is of the chain with this id.
 *
 * @param chainId undefined if any chain is accepted
 */
export async function answersForChain(host: Reader, url: string, chainId: number | undefined): Promise<Verdict> {
  const json = jsonRpcRequest('eth_chainId');
  const answer = await askHttp(host, url, { json, length: longestAnswer, seconds: answerLimit });
  if (!answer.answered) return notReached(url, answer.why);
  if (answer.status === undefined) return ok;
  if (answer.status !== 200) return answersStatus(url, answer.status);
  const shown = shownAddress(url);
  const read = readAnswer(answer.body.toString(), shown);
  if (!read.ok) return drift(read.error);
  const id = quantity(read.result);
  if (id === undefined) return drift(`${shown} gives no chain id: ${JSON.stringify(read.result)?.slice(0, 80)}`);
  return chainId === undefined || id === chainId
    ? ok
    : drift(`${shown} is of the chain with id ${id}, and has to be of the one with id ${chainId}`);
}

function notReached(url: string, why: string): Verdict {
  return drift(`${shownAddress(url)} does not answer: ${why}`);
}

function answersStatus(url: string, status: number): Verdict {
  return drift(`${shownAddress(url)} answers HTTP ${status}`);
}

/** Scheme, host and port alone: providers put a key into the path. */
export function shownAddress(url: string): string {
  return url.replace(/^(\w+:\/\/)(?:[^/?#]*@)?([^/?#]*).*$/s, '$1$2');
}
