import type { Reader } from '../../engine/host/host.ts';
import { askHttp } from '../../engine/resource/network/http.ts';
import { parseJson } from '../../engine/text/parse-json.ts';

/** What a gateway says about one RPC host. */
export interface FleetHost {
  readonly host: string;
  /** Whether it is for heavy methods alone. */
  readonly heavy: boolean;
  /** Whether it gets requests. */
  readonly serves: boolean;
  /** Whether it would, were it not drained. */
  readonly fit: boolean;
  /** Why it does not serve. */
  readonly reason: string | null;
  /** Why it is drained. */
  readonly drained: string | null;
  readonly height: number | null;
  readonly hash: string | null;
  /** Connections and requests that it has now. */
  readonly sessions: number;
}

/** What a gateway knows of all RPC hosts. */
export interface Fleet {
  /** Whether it has asked all hosts since its start. */
  readonly judged: boolean;
  /** The hash of the files that HAProxy runs with. */
  readonly configuration: string;
  /** Messages of WebSockets that HAProxy has refused since its start or reload. */
  readonly refused_messages: number;
  readonly hosts: readonly FleetHost[];
}

/** Bytes: a host has at most some hundred. */
const longest = 1024 * 1024;

/**
 * Asks the gateway on this host which RPC hosts may serve, and why others do not.
 *
 * @returns the reason where it does not answer
 */
export async function readFleet(
  host: Reader,
  port: number,
): Promise<{ readonly ok: true; readonly value: Fleet } | { readonly ok: false; readonly error: string }> {
  const answer = await askHttp(host, `http://127.0.0.1:${port}/fleet`, { length: longest, seconds: 3 });
  if (!answer.answered) return { ok: false, error: `HAProxy does not answer on port ${port}: ${answer.why}` };
  const fleet = parseJson(answer.body.toString()) as Fleet | null | undefined;
  if (Array.isArray(fleet?.hosts) && typeof fleet.configuration === 'string')
    return { ok: true, value: fleet };
  return { ok: false, error: `port ${port} answers, but not the gateway` };
}
