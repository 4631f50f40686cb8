import type { Reader } from '../../engine/host/host.ts';
import { askHttp } from '../../engine/resource/network/http.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { longestAnswer, readAnswer } from './json-rpc.ts';

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

/** Whether JSON-RPC is answered there, from the host. */
export async function answersJsonRpc(host: Reader, url: string, method: string): Promise<Verdict> {
  const json = JSON.stringify({ jsonrpc: '2.0', method, params: [], id: 1 });
  const answer = await askHttp(host, url, { json, length: longestAnswer, seconds: answerLimit });
  if (!answer.answered) return notReached(url, answer.why);
  if (answer.status === undefined) return ok;
  if (answer.status !== 200) return answersStatus(url, answer.status);
  const read = readAnswer(answer.body.toString(), shownAddress(url));
  return read.ok ? ok : drift(read.error);
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
