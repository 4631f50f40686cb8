import { readFileSync } from 'node:fs';
import type { Reader } from '../../engine/host/host.ts';
import type { Output } from '../../engine/host/output.ts';
import { excerpt } from '../../engine/secret/secret.ts';
import { printable } from '../../engine/text/printable.ts';
import type { Answer } from './chain.ts';
import { jsonRpcRequest, patience, readAnswer } from './json-rpc.ts';

const script = readFileSync(new URL('../../../templates/host/websocket.sh', import.meta.url), 'utf8');

/**
 * Asks json-rpc on a port of the host for the newest block, over WebSocket: the handshake with its
 * proof, one request, its answer.
 *
 * @param limit for each answer of the server; seconds
 */
export async function askWebSocket(host: Reader, port: number, limit: number): Promise<Answer<unknown>> {
  const url = `ws://localhost:${port}`;
  const words = [port, jsonRpcRequest('eth_blockNumber'), limit, patience];
  const output = await host.$({ timeoutSeconds: patience + limit + 2 })`
    timeout ${patience + limit} bash -c ${script} websocket ${words}`;
  const [head = '', said = ''] = output.stdout.split(/\n\n(.*)/s);
  const fault = head === '' ? `does not answer: ${whyNot(output)}` : faultOfHandshake(head);
  if (fault !== undefined) return { ok: false, error: `${url} ${fault}` };
  const [kind = '', text = ''] = said.split(/\n(.*)/s);
  if (kind !== '' && kind !== 'message') return { ok: false, error: `${url} ${describeEnd(kind, text)}` };
  const answer = readAnswer(text, url);
  return answer.ok ? { ok: true, value: answer.result } : answer;
}

/** The last words of the shell are the reason, without the shell's own places. */
function whyNot({ exitCode, stderr }: Output): string {
  if (exitCode === 124) return 'it takes longer than its time limit';
  const last = stderr.trim().split('\n').at(-1)?.split(': ').at(-1) ?? '';
  return printable(last) || `bash ended with exit code ${exitCode}`;
}

function describeEnd(kind: string, text: string): string {
  if (kind === 'masked') return 'sends a masked frame, which only a client may (RFC 6455, section 5.1)';
  const [, code = 'without a code'] = kind.split(' ');
  return `closes the WebSocket: ${[code, short(text)].filter((part) => part !== '').join(' ')}`;
}

/**
 * What is wrong with the answer to a handshake, by RFC 6455, section 4.1.
 *
 * @param head the accept that belongs to the client's key, the status line and the headers, one to
 * a line
 */
function faultOfHandshake(head: string): string | undefined {
  const [proof = '', statusLine = '', ...lines] = head.split('\n');
  const [, status, words = ''] = /^HTTP\/\d(?:\.\d)? (\d{3})(.*)$/.exec(statusLine) ?? [];
  if (status === undefined) return `does not speak HTTP: it answers ${JSON.stringify(short(statusLine))}`;
  const header = headersOf(lines);
  if (status !== '101') return refusal(Number(status), short(words), header);
  const upgrade = header('upgrade');
  const accept = header('sec-websocket-accept');
  if (upgrade.toLowerCase() !== 'websocket')
    return `${switches}but ${other('Upgrade', upgrade, 'websocket')}`;
  if (!/(^|,)\s*upgrade\s*(,|$)/i.test(header('connection')))
    return `${switches}but ${other('Connection', header('connection'), 'Upgrade')}`;
  if (accept !== proof)
    return `${switches}but ${other('Sec-WebSocket-Accept', accept, `${proof}, which belongs to our key`)}: it is no WebSocket server, or a cache answers for it`;
  const unasked = ['Sec-WebSocket-Extensions', 'Sec-WebSocket-Protocol'].find((name) => header(name) !== '');
  return unasked && `${switches}with ${unasked} ${short(header(unasked))}, which nobody asked for`;
}

const switches = 'answers HTTP 101, ';

const other = (name: string, value: string, wanted: string) =>
  value === '' ? `without ${name}: ${wanted}` : `with ${name} ${short(value)} and not ${wanted}`;

/**
 * @returns the value of a header in any case of letters, all values of one that came several
 * times, or the empty string
 */
function headersOf(lines: readonly string[]): (name: string) => string {
  const headers = lines.map((line) => line.split(/:\s*(.*)/s));
  return (name) =>
    headers
      .filter(([own = '']) => own.toLowerCase() === name.toLowerCase())
      .map(([, value = '']) => value.trim())
      .join(', ');
}

function refusal(status: number, words: string, header: (name: string) => string): string {
  const answer = `HTTP ${status}${words === '' ? '' : ` ${words.trim()}`}`;
  const refuses = `refuses the WebSocket handshake with ${answer}`;
  if (status === 400) return `${refuses}: it finds a fault in the request, and its log names the fault`;
  if (status === 401 || status === 403) return `${refuses}: it does not serve this caller or this Origin`;
  if (status === 426) {
    const version = header('sec-websocket-version');
    return `${refuses}: it wants ${version === '' ? `Upgrade: ${short(header('upgrade')) || '(nothing)'}` : `WebSocket version ${short(version)} and not 13`}`;
  }
  // A server without WebSocket takes the handshake for a request of its own.
  const isPlain = (status >= 200 && status < 300) || status === 404 || status === 405;
  if (!isPlain) return refuses;
  return `is a plain HTTP server and no WebSocket: it answers ${answer}; compare ports.rpc_websocket and RPC.WebSockets of node_config`;
}

const short = (text: string) => printable(excerpt(text.trim(), 80));
