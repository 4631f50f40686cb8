import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import { drift, ok, type Verdict } from '../../engine/resource/resource.ts';
import { readAnswer } from './json-rpc.ts';

const script = readFileSync(new URL('../../../templates/host/probe.sh', import.meta.url), 'utf8');

/** An address that answers at all does so quickly, and a dead one must not hold up the rest. Seconds. */
const answerLimit = 6;

/** What came back. `status` is HTTP's; without one only the connection could be tried, as on a server without curl for https. */
type Answer =
  | { readonly reached: true; readonly status: number | undefined; readonly body: string }
  | { readonly reached: false; readonly why: string };

/** Whether something can be downloaded from there, from the host. */
export async function downloads(host: Reader, url: string): Promise<Verdict> {
  const answer = await probe(host, url);
  if (!answer.reached) return notReached(url, answer.why);
  const { status } = answer;
  return status === undefined || (status >= 200 && status < 300) ? ok : answersStatus(url, status);
}

/** Whether a registry of images answers: one that wants to know who asks does as well. */
export async function registryAnswers(host: Reader, url: string): Promise<Verdict> {
  const answer = await probe(host, url);
  if (!answer.reached) return notReached(url, answer.why);
  const { status } = answer;
  return status === undefined || status === 200 || status === 401 ? ok : answersStatus(url, status);
}

/** Whether JSON-RPC is answered there, from the host. */
export async function answersJsonRpc(host: Reader, url: string, method: string): Promise<Verdict> {
  const answer = await probe(host, url, JSON.stringify({ jsonrpc: '2.0', method, params: [], id: 1 }));
  if (!answer.reached) return notReached(url, answer.why);
  if (answer.status === undefined) return ok;
  if (answer.status !== 200) return answersStatus(url, answer.status);
  const read = readAnswer({ ok: true, stdout: answer.body, stderr: '' }, shownAddress(url));
  return read.ok ? ok : drift(read.error);
}

async function probe(host: Reader, url: string, body = ''): Promise<Answer> {
  // The script's own limit comes first; this one is for a name server that does not answer.
  const output = await host.$({ timeoutSeconds: answerLimit + 2 })`
    printf '%s\\n' ${url} | sh -c ${script} probe ${answerLimit} ${body}`;
  if (output.timedOut) return { reached: false, why: `no answer within ${answerLimit} s` };
  if (!output.ok) return { reached: false, why: reasonOf(output.stderr) };
  const [first = '', ...rest] = output.stdout.split('\n');
  const [, status] = /^http (\d+)$/.exec(first) ?? [];
  return { reached: true, status: status === undefined ? undefined : Number(status), body: rest.join('\n') };
}

function reasonOf(stderr: string): string {
  const last = stderr.trim().split('\n').at(-1) ?? '';
  return last.replace(/^curl: \(\d+\) /, '') || 'no answer';
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
