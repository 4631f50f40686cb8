import type { Reader } from '../../engine/host/host.ts';
import type { Output } from '../../engine/host/output.ts';
import { curlError } from '../../engine/resource/network/http.ts';
import { curlAddress } from '../../engine/resource/network/web-address.ts';

/** How long an answer may take. Seconds. */
const answerLimit = 10;

/** What a JSON-RPC server answered, or why there is no result, in words. */
export type JsonRpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: string };

/** Asks a JSON-RPC server by HTTP, from the host with curl. Never throws. */
export async function jsonRpc(
  host: Reader,
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<JsonRpcAnswer> {
  const request = JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 });
  const output = await host.$`printf '%s\\n' ${curlAddress(url)} |
      curl --silent --show-error --globoff --max-time ${answerLimit} --header ${'Content-Type: application/json'} --data ${request} --config -`;
  return readAnswer(output, url);
}

/** An error comes with HTTP 200 as a result does, so only the body tells. */
export function readAnswer(output: Pick<Output, 'ok' | 'stdout' | 'stderr'>, url: string): JsonRpcAnswer {
  if (!output.ok) return { ok: false, error: `${url} does not answer: ${curlError(output.stderr)}` };
  let body: unknown;
  try {
    body = JSON.parse(output.stdout);
  } catch {
    return { ok: false, error: `${url} answers no JSON: ${output.stdout.trim().slice(0, 80) || '(nothing)'}` };
  }
  if (typeof body === 'object' && body !== null) {
    if ('error' in body && body.error)
      return { ok: false, error: `${url} answers an error: ${describeError(body.error)}` };
    if ('result' in body) return { ok: true, result: body.result };
  }
  return { ok: false, error: `${url} answers no JSON-RPC: ${output.stdout.trim().slice(0, 80)}` };
}

function describeError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { code, message } = error as { code?: unknown; message?: unknown };
  return [code, message].filter((part) => typeof part === 'number' || typeof part === 'string').join(' ');
}
