import { isIP } from 'node:net';
import { basename } from 'node:path/posix';
import type { Variables } from '../variables/variables.ts';
import { fallbackFile } from './paths.ts';

type Fallback = Pick<Variables['gateway'], 'fallback'>;

/** The path at the provider, in which its key may be; empty without a provider. */
export function fallbackPath({ fallback }: Fallback): string {
  if (!fallback) return '';
  const { pathname, search } = new URL(fallback.reveal());
  return `uri ${pathname}${search}\n`;
}

/** The headers of a client that a provider needs. All others may name the client, or let it in. */
const passedOn = ['accept', 'content-length', 'content-type', 'transfer-encoding'];

const lower = '{ var(txn.height),sub(txn.seen) lt 0 }';
const higher = '{ var(txn.height),sub(txn.seen) gt 0 }';
const caughtUp = '{"jsonrpc":"2.0","id":%[var(txn.id)],"result":"%[var(txn.caught_up)]"}';

/** A client sees no lower height because another one answers, nor when the own hosts are back. */
const heights = [
  'acl shows_height var(txn.method) -m str eth_blockNumber',
  'http-response wait-for-body time 2s if shows_height',
  "http-response set-var(txn.height) res.body,json_query('$.result'),bytes(2),hex2i if shows_height",
  'http-response set-var(txn.seen) sc_get_gpt(0,0)',
  `http-response lua.keep_height if shows_height ${lower}`,
  `http-response return status 200 hdr access-control-allow-origin "*" hdr X-Fallback provider content-type application/json lf-string '${caughtUp}' if { var(txn.caught_up) -m found }`,
  `http-response sc-set-gpt(0,0) var(txn.height) if shows_height ${higher}`,
];

/**
 * Lines of haproxy.cfg for a provider that answers where no RPC server may; all are empty without
 * one.
 */
export function fallbackRules({ fallback }: Fallback) {
  if (!fallback) return { fallback: '', fallback_use: '', unless_fallback: '' };
  const { protocol, hostname, port, host } = new URL(fallback.reveal());
  const isTls = protocol === 'https:';
  const tls = isTls
    ? ` ssl verify required ca-file @system-ca sni str(${hostname}) verifyhost ${hostname}`
    : '';
  // HAProxy prefers IPv6, also where there is no way by it.
  const names = isIP(hostname) ? '' : ' init-addr libc,none resolvers system resolve-prefer ipv4';
  return {
    fallback: [
      '# A provider, where no RPC host may serve.',
      ...(names === '' ? [] : ['resolvers system', '    parse-resolv-conf', '']),
      'backend fallback',
      '    # It may end an idle connection at the moment of a request. A raw transaction is never sent twice.',
      '    retry-on conn-failure empty-response',
      '    http-request disable-l7-retry unless { var(txn.plain) -m bool } !{ var(txn.method) -m str eth_sendRawTransaction }',
      `    http-request del-header ^(?!(${passedOn.join('|')})$) -m reg`,
      `    http-request set-header Host ${host}`,
      `    http-request set-uri %[str(uri),map(${basename(fallbackFile)})]`,
      ...heights.map((line) => `    ${line}`),
      '    http-response set-header X-Fallback provider',
      '    # As the node says to browsers: the provider sees no origin, so it may not say this.',
      '    http-response set-header access-control-allow-origin "*"',
      `    server provider ${hostname}:${port || (isTls ? 443 : 80)}${names}${tls}`,
      '',
    ].join('\n'),
    fallback_use: '    use_backend fallback if !{ var(txn.host) -m found } !is_websocket',
    unless_fallback: ' is_websocket',
  };
}
