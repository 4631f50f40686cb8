import { readFileSync } from 'node:fs';
import type { Reader } from '../../host/host.ts';

/** The script that sends a request. */
export const probe = readFileSync(new URL('../../../../templates/host/probe.sh', import.meta.url), 'utf8');

/** curl follows 50 redirects. */
const mostAnswers = 60;
/** Bytes. */
const longestHead = 32 * 1024;

/** Settings of a request. */
export interface HttpRequest {
  /** JSON to POST. Without it the request is a GET. */
  readonly json?: string;
  /** How much of the body is read, by a range request. Bytes, default 1. */
  readonly length?: number;
  /** Time limit. Seconds, default 10. */
  readonly seconds?: number;
  /** For how long HTTP 429, too many requests, is asked again. Seconds, default 0. */
  readonly patience?: number;
  /**
   * A folder with ca.crt, of an authority beside those of the host, and client.cert and client.key:
   * each is used if it is there.
   */
  readonly certificates?: string;
}

/** An answer, after redirects; or the reason why there is not one. */
export type HttpAnswer =
  | {
      readonly answered: true;
      /**
       * undefined if only the connection could be tested: other protocols, and https from a host
       * without curl and wget.
       */
      readonly status: number | undefined;
      /** Length of the whole file in bytes, if the server sends it. */
      readonly size: number | undefined;
      readonly body: Buffer;
    }
  | { readonly answered: false; readonly why: string };

/**
 * Sends one request from the host, by curl, wget or bash. The URL is in no argument list there,
 * and the body only with wget. Never throws.
 */
export async function askHttp(
  host: Reader,
  url: string,
  { json = '', length = 1, seconds = 10, patience = 0, certificates = '' }: HttpRequest = {},
): Promise<HttpAnswer> {
  // The script's own limit is shorter; this one is for a name server that does not answer.
  const output = await host.$({ timeoutSeconds: seconds + patience + 2 })`
    printf '%s\\n' ${url} ${json} | sh -c ${probe} probe ${seconds} ${length} ${patience} ${certificates}`;
  const asked = json === '' ? length : undefined;
  return readHttpAnswer(
    output.bytes,
    output.timedOut ? `no answer within ${seconds} s` : output.stderr,
    asked,
  );
}

/**
 * What the script printed.
 *
 * @param stderr the reason where it printed nothing
 * @param length of the body
 */
export function readHttpAnswer(bytes: Buffer, stderr: string, length = bytes.length): HttpAnswer {
  return bytes.length > 0 ? readAnswer(bytes, length) : { answered: false, why: reasonOf(stderr) };
}

/**
 * Reads `HTTP/1.1 200 OK`, headers, an empty line and the body. Of several answers (redirects, a
 * proxy) the last one counts.
 */
function readAnswer(bytes: Buffer, length: number): HttpAnswer {
  let body = bytes;
  let head = '';
  for (let answers = 0; answers < mostAnswers && body.subarray(0, 5).toString() === 'HTTP/'; answers += 1) {
    const [, lines = '', end = ''] =
      /^(.*?)(\r?\n\r?\n|$)/s.exec(body.toString('latin1', 0, longestHead)) ?? [];
    head = lines;
    body = body.subarray(lines.length + end.length);
  }
  if (head === '') {
    if (bytes.toString().trim() === 'connected')
      return { answered: true, status: undefined, size: undefined, body: Buffer.alloc(0) };
    return { answered: false, why: 'something answers that does not speak HTTP' };
  }
  const size = (/^content-range:.*\/(\d+)/im.exec(head) ?? /^content-length:\s*(\d+)/im.exec(head))?.[1];
  return {
    answered: true,
    status: Number(/^HTTP\/\S+ +(\d+)/.exec(head)?.[1]),
    size: size === undefined ? undefined : Number(size),
    body: body.subarray(0, length),
  };
}

/**
 * The last line of curl, which says more below it of a certificate that it does not trust; or the
 * last line. Without the name of the program: `curl: (7) Failed to connect …`, `bash: line 2:
 * /dev/tcp/…: Connection refused`.
 */
function reasonOf(stderr: string): string {
  const lines = stderr.trim().split('\n');
  const last = lines.findLast((line) => /^curl: \(\d+\) /.test(line)) ?? lines.at(-1) ?? '';
  return last.replace(/^curl: \(\d+\) /, '').replace(/^bash: .*: /, '') || 'no answer';
}

/** A URL without its query: the query of a signed one is as good as a password. */
export function withoutQuery(url: string): string {
  return url.replace(/\?.*$/s, '');
}

/**
 * Scheme, host and port of a URL alone: providers put a key into the path, and other addresses
 * hold a password before the host.
 */
export function shownAddress(url: string): string {
  return url.replace(/^(\w+:\/\/)(?:[^/?#]*@)?([^/?#]*).*$/s, '$1$2');
}

/**
 * A text in which of each URL only scheme, host and port are left. The marks that end a part of a
 * sentence stay.
 */
export function withShownAddresses(text: string): string {
  return text.replaceAll(/\b\w+:\/\/[^\s"']+/g, (found) => {
    const [, url = '', marks = ''] = /^(.*?)([.,:;)\]}]{0,3})$/.exec(found) ?? [];
    return shownAddress(url) + marks;
  });
}
