import type { Reader } from '../../host/host.ts';
import { drift, expectation, ok, type Resource, unknownUntil, type Verdict } from '../resource.ts';
import { curlAddress, withoutQuery } from './web-address.ts';

/** How long an answer may take. Seconds. */
const answerLimit = 10;

export interface HttpExpectation {
  readonly url: string;
  /** Which status codes are fine. Default 200 to 399. */
  readonly accept?: (status: number) => boolean;
  readonly hint?: string;
  readonly severity?: 'must' | 'should';
}

/** An address that has to answer, asked from the host with curl by a HEAD request. */
export function httpExpectation(name: string, { url, accept = isFine, hint, severity }: HttpExpectation): Resource {
  const options = { ...(hint === undefined ? {} : { hint }), ...(severity === undefined ? {} : { severity }) };
  return expectation(name, (host) => look(host, url, accept), options);
}

async function look(host: Reader, url: string, accept: (status: number) => boolean): Promise<Verdict> {
  const output = await host.$`command -v curl >/dev/null || exit 127
    printf '%s\\n' ${curlAddress(url)} |
    curl --globoff --silent --show-error --location --head --output /dev/null --write-out ${'%{http_code}'} --max-time ${answerLimit} --config -`;
  if (output.exitCode === 127) return unknownUntil('curl is installed');
  if (!output.ok) return drift(`${withoutQuery(url)} does not answer: ${curlError(output.stderr)}`);
  const status = Number(output.text());
  return accept(status) ? ok : drift(`${withoutQuery(url)} answers HTTP ${status}`);
}

function isFine(status: number): boolean {
  return status >= 200 && status < 400;
}

/** What curl says, without its own name and number: `curl: (7) Failed to connect …`. */
export function curlError(stderr: string): string {
  const last = stderr.trim().split('\n').at(-1) ?? '';
  return last.replace(/^curl: \(\d+\) /, '') || 'no answer';
}
