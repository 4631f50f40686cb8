import type { Reader } from '../../engine/host/host.ts';
import { askHttp } from '../../engine/resource/network/http.ts';
import { excerpt } from '../../engine/secret/secret.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import { parseJson } from '../../engine/text/parse-json.ts';

/** A block with its transactions is some hundred kilobytes. Bytes. */
export const longestAnswer = 4 * 1024 * 1024;

/**
 * For how long HTTP 429 is asked again: a node that allows one request in a second answers all
 * checks of a run in this time. Seconds.
 */
export const patience = 12;

/** The JSON-RPC error of a method that is not served. */
export const methodNotFound = -32601;

/** The id of every request, which a valid answer repeats. */
const requestId = 1;

/** What a JSON-RPC server answered, or why there is no result, in words. */
export type JsonRpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | {
      readonly ok: false;
      readonly error: string;
      /** Of an error that the server itself answers. */
      readonly code?: number | undefined;
    };

/** Asks a JSON-RPC server by HTTP, from the host. Never throws. */
export async function jsonRpc(
  host: Reader,
  url: string,
  method: string,
  params: readonly unknown[] = [],
): Promise<JsonRpcAnswer> {
  const answer = await askHttp(host, url, {
    json: jsonRpcRequest(method, params),
    length: longestAnswer,
    patience,
  });
  if (answer.answered) return readAnswer(answer.body.toString(), url);
  return { ok: false, error: `${url} does not answer: ${answer.why}` };
}

/** The body of a request. */
export function jsonRpcRequest(method: string, params: readonly unknown[] = []): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params, id: requestId });
}

/**
 * Reads an answer as JSON-RPC 2.0 defines it: `jsonrpc` is "2.0", `id` is that of the request, and
 * there is a result and no error. An error comes with HTTP 200, as a result does, so only the body
 * shows it.
 */
export function readAnswer(text: string, url: string): JsonRpcAnswer {
  const body = parseJson(text);
  const shown = excerpt(text.trim(), 80);
  if (body === undefined) return { ok: false, error: `${url} answers no JSON: ${shown || '(nothing)'}` };
  const { jsonrpc, id, error, ...rest } = fieldsOf(body);
  if (error)
    return { ok: false, error: `${url} answers an error: ${describeError(error)}`, code: codeOf(error) };
  if (!('result' in rest)) return { ok: false, error: `${url} answers no JSON-RPC: ${shown}` };
  if (jsonrpc !== '2.0') return { ok: false, error: `${url} answers without "jsonrpc": "2.0": ${shown}` };
  if (id !== requestId)
    return { ok: false, error: `${url} answers another request than that with id ${requestId}: ${shown}` };
  return { ok: true, result: rest.result };
}

function codeOf(error: unknown): number | undefined {
  const { code } = fieldsOf(error);
  return typeof code === 'number' ? code : undefined;
}

function describeError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { code, message } = fieldsOf(error);
  return [code, message].filter((part) => typeof part === 'number' || typeof part === 'string').join(' ');
}

/** A quantity as JSON-RPC writes it: 0x and hexadecimal digits without leading zeros. */
export function quantity(value: unknown): number | undefined {
  if (typeof value !== 'string' || !/^0x(0|[1-9a-f][0-9a-f]*)$/i.test(value)) return undefined;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : undefined;
}
