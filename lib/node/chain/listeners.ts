import { askHttp } from '../../engine/resource/network/http.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { type Attempts, answers } from './installation-check.ts';
import { jsonRpc, methodNotFound } from './json-rpc.ts';
import { askWebSocket } from './web-socket.ts';

/** A listener on the same host answers quickly. Seconds. */
const limit = 5;

/**
 * A cheap method of each namespace. The block of the last one does not exist, so nothing is
 * traced.
 */
const methods: Readonly<Record<string, readonly [method: string, ...params: unknown[]]>> = {
  eth: ['eth_chainId'],
  net: ['net_version'],
  web3: ['web3_clientVersion'],
  zkevm: ['zkevm_batchNumber'],
  txpool: ['txpool_content'],
  debug: ['debug_traceBlockByNumber', '0x7fffffffffffffff'],
};

/**
 * json-rpc serves these namespaces over HTTP (spec, Endpoints). An error that a served method
 * gives is an answer.
 */
export function servesNamespaces(url: string, namespaces: readonly string[], attempts: Attempts): Resource {
  return answers(`${url} serves ${namespaces.join(', ')}`, 'json-rpc', attempts, async (host) => {
    const asked = namespaces.map(async (namespace) => {
      const [method, ...params] = methods[namespace] ?? [`${namespace}_version`];
      const answer = await jsonRpc(host, url, method, params);
      const served = answer.ok || (answer.code !== undefined && answer.code !== methodNotFound);
      return served ? [] : [`${namespace}: ${answer.error}`];
    });
    const missing = (await Promise.all(asked)).flat();
    return missing.length === 0 ? { ok: true, value: undefined } : { ok: false, error: missing.join('; ') };
  });
}

/** json-rpc answers over WebSocket on a port of the host: the handshake, and one request. */
export function answersWebSocket(port: number, attempts: Attempts): Resource {
  return answers(`json-rpc answers over WebSocket on port ${port}`, 'json-rpc', attempts, (host) =>
    askWebSocket(host, port, limit),
  );
}

/** A component serves its metrics, in the text format of Prometheus, on a port of the host. */
export function servesMetrics(container: string, port: number, attempts: Attempts): Resource {
  const url = `http://localhost:${port}/metrics`;
  return answers(`${url} has the metrics of ${container}`, container, attempts, async (host) => {
    const answer = await askHttp(host, url, { length: 4096, seconds: limit });
    if (!answer.answered) return { ok: false, error: `${url} does not answer: ${answer.why}` };
    if (answer.status !== 200 && answer.status !== 206)
      return { ok: false, error: `${url} answers HTTP ${answer.status}` };
    return /^# (HELP|TYPE) /m.test(answer.body.toString())
      ? { ok: true, value: undefined }
      : { ok: false, error: `${url} answers no metrics` };
  });
}
