import type { Reader } from '../../engine/host/host.ts';
import { askHttp } from '../../engine/resource/network/http.ts';

/** A block with its transactions is some hundred kilobytes. Bytes. */
export const longestAnswer = 4 * 1024 * 1024;

/** What a JSON-RPC server answered, or why there is no result, in words. */
export type JsonRpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: string };

/** Asks a JSON-RPC server by HTTP, from the host. Never throws. */
export async function jsonRpc(
  host: Reader,
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<JsonRpcAnswer> {
  const json = JSON.stringify({ jsonrpc: '2.0', method, params, id: 1 });
  const answer = await askHttp(host, url, { json, length: longestAnswer });
  if (answer.answered) return readAnswer(answer.body.toString(), url);
  return { ok: false, error: `${url} does not answer: ${answer.why}` };
}

/** An error comes with HTTP 200, as a result does, so only the body shows it. */
export function readAnswer(text: string, url: string): JsonRpcAnswer {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return { ok: false, error: `${url} answers no JSON: ${text.trim().slice(0, 80) || '(nothing)'}` };
  }
  if (typeof body === 'object' && body !== null) {
    if ('error' in body && body.error)
      return { ok: false, error: `${url} answers an error: ${describeError(body.error)}` };
    if ('result' in body) return { ok: true, result: body.result };
  }
  return { ok: false, error: `${url} answers no JSON-RPC: ${text.trim().slice(0, 80)}` };
}

function describeError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { code, message } = error as { code?: unknown; message?: unknown };
  return [code, message].filter((part) => typeof part === 'number' || typeof part === 'string').join(' ');
}
