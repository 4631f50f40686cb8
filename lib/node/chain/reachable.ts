import type { Reader } from '../../engine/host/host.ts';
import { askHttp, type HttpRequest, shownAddress } from '../../engine/resource/network/http.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { excerpt } from '../../engine/secret/secret.ts';
import { jsonRpcRequest, longestAnswer, quantity, readAnswer } from './json-rpc.ts';

/** An address that answers at all does so quickly, and a dead one must not hold up the rest. Seconds. */
const answerLimit = 6;

/** Whether something can be downloaded from there, from the host. */
export async function downloads(host: Reader, url: string): Promise<Verdict> {
  return ask(host, url, (status) => status >= 200 && status < 300);
}

/** Whether a registry of images answers: one that wants to know who asks does as well. */
export async function registryAnswers(host: Reader, url: string): Promise<Verdict> {
  return ask(host, url, (status) => status === 200 || status === 401);
}

/**
 * Whether a chain's JSON-RPC answers there, from the host, and is of the chain with this id.
 *
 * @param chainId undefined if any chain is accepted
 */
export async function answersForChain(host: Reader, url: string, chainId: number | undefined): Promise<Verdict> {
  const request = { json: jsonRpcRequest('eth_chainId'), length: longestAnswer };
  return ask(
    host,
    url,
    (status) => status === 200,
    request,
    (body) => {
      const shown = shownAddress(url);
      const read = readAnswer(body.toString(), shown);
      if (!read.ok) return drift(read.error);
      const id = quantity(read.result);
      if (id === undefined)
        return drift(`${shown} gives no chain id: ${excerpt(JSON.stringify(read.result) ?? '', 80)}`);
      if (chainId === undefined || id === chainId) return ok;
      return drift(`${shown} is of the chain with id ${id}, and has to be of the one with id ${chainId}`);
    },
  );
}

/**
 * @param judge of a body that came with the right status. A host without curl and wget tries the connection only
 */
async function ask(
  host: Reader,
  url: string,
  isRight: (status: number) => boolean,
  request: HttpRequest = {},
  judge: (body: Buffer) => Verdict = () => ok,
): Promise<Verdict> {
  const answer = await askHttp(host, url, { ...request, seconds: answerLimit });
  if (!answer.answered) return drift(`${shownAddress(url)} does not answer: ${answer.why}`);
  const { status, body } = answer;
  if (status === undefined) return ok;
  return isRight(status) ? judge(body) : drift(`${shownAddress(url)} answers HTTP ${status}`);
}
