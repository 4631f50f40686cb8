import type { Reader } from '../../engine/host/host.ts';
import { askHttp } from '../../engine/resource/network/http.ts';
import { parseJson } from '../../engine/text/parse-json.ts';
import { layer1Url } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';

/** What HAProxy says about one provider of layer 1. */
export interface ProviderState {
  /** Its host, without the path, which may hold a key. */
  readonly provider: string;
  readonly used: boolean;
  /** Whether the node may use it now, or once the used one fails. */
  readonly usable: boolean;
  /** Why it is out, or not yet back. */
  readonly reason: string | null;
  readonly height: number | null;
}

/** What HAProxy knows of all providers. */
export interface Layer1Choice {
  /** Whether it has asked all of them since its start. */
  readonly judged: boolean;
  /** The hash of the files that it runs with. */
  readonly configuration: string;
  readonly providers: readonly ProviderState[];
}

/** Bytes: a provider has some hundred. */
const longest = 64 * 1024;

/** Where HAProxy says on the Database+Sync server which provider is used. */
export function layer1Answer(vars: Pick<Variables, 'network' | 'ports'>): string {
  return `${layer1Url(vars)}/providers`;
}

/**
 * Asks HAProxy on the Database+Sync server which provider of layer 1 is used, and why others are
 * out.
 *
 * @returns the reason where it does not answer
 */
export async function readLayer1(
  host: Reader,
  vars: Pick<Variables, 'network' | 'ports'>,
): Promise<
  { readonly ok: true; readonly value: Layer1Choice } | { readonly ok: false; readonly error: string }
> {
  const { layer1 } = vars.ports;
  const answer = await askHttp(host, layer1Answer(vars), { length: longest, seconds: 3 });
  if (!answer.answered) {
    return { ok: false, error: `HAProxy for layer 1 does not answer on port ${layer1}: ${answer.why}` };
  }
  const choice = parseJson(answer.body.toString()) as Layer1Choice | null | undefined;
  if (Array.isArray(choice?.providers) && typeof choice.configuration === 'string')
    return { ok: true, value: choice };
  return { ok: false, error: `port ${layer1} answers, but not HAProxy for layer 1` };
}
