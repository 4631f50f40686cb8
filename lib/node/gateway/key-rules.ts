import { basename } from 'node:path/posix';
import { sha256Of } from '../../engine/resource/file/content.ts';
import type { Variables } from '../variables/variables.ts';
import { keysFile } from './paths.ts';

type Gateway = Variables['gateway'];

/**
 * The names of keys by their SHA-256, for HAProxy: a key itself is on no host. Keys are long and
 * random, so a hash without a salt is not reversed.
 */
export function keyNames({ keys }: Pick<Gateway, 'keys'>): string {
  return keys.map(({ name, key }) => `${sha256Of(key.reveal())} ${name}\n`).join('');
}

/** Without the line of the request, where a key may be. */
const logFormat =
  '%ci:%cp [%tr] %ft %b/%s %TR/%Tw/%Tc/%Tr/%Ta %ST %B %CC %CS %tsc %ac/%fc/%bc/%sc/%rc %sq/%bq key=%[var(txn.key)] %HM';

/**
 * Lines of haproxy.cfg for API keys; all are empty without any. A key is taken from the header
 * X-API-Key, the parameter `key` or the path, and goes no further.
 */
export function keyRules(gateway: Pick<Gateway, 'keys' | 'key_required'>, counters: string) {
  if (gateway.keys.length === 0) {
    const none = { key_limits: '', key_log: '', key_rules: '', key_monitor: '', key_messages: '' };
    return { ...none, key_refusal: '', key_option: '' };
  }
  const error = '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no known API key"}}';
  return {
    key_limits: [
      '',
      '# Calls of an API key.',
      'backend key_limits',
      `    stick-table type string len 64 size 20k expire 1m store gpc(${counters}),gpc_rate(${counters},1s)`,
    ].join('\n'),
    key_log: [`    log-format "${logFormat}"`, '    unique-id-format %[var(txn.key)]'].join('\n'),
    key_rules: requestRules(gateway)
      .map((line) => `    ${line}`)
      .join('\n'),
    key_monitor: monitorRefusals(gateway)
      .map((line) => `    ${line}`)
      .join('\n'),
    key_messages: [
      'tcp-request content set-var(sess.key) fc_pp_unique_id if { fc_pp_unique_id -m reg . }',
      'tcp-request content track-sc2 var(sess.key) table key_limits if { var(sess.key) -m found }',
      'tcp-request content track-sc0 var(sess.key) table message_figures if { var(sess.key) -m found }',
    ]
      .map((line) => `    ${line}`)
      .join('\n'),
    key_refusal: [
      'backend refused_key',
      '    http-request sc-inc-gpc(0,2)',
      `    http-request return status 401 hdr access-control-allow-origin "*" content-type application/json string '${error}'`,
      '',
    ].join('\n'),
    key_option: ' proxy-v2-options unique-id',
  };
}

const known = '{ var(txn.key) -m found }';
const isMonitor = '{ var(txn.monitor) -m bool }';

function requestRules({ key_required }: Pick<Gateway, 'key_required'>): string[] {
  const found = '{ var(txn.secret) -m found }';
  const unknown = key_required ? `!${known} !${isMonitor}` : `${found} !${known}`;
  return [
    'http-request set-var(txn.secret) req.hdr(X-API-Key) if { req.hdr(X-API-Key) -m found }',
    `http-request set-var(txn.secret) url_param(key) if !${found} { url_param(key) -m found }`,
    `http-request set-var(txn.secret) path,bytes(1) if !${found} !{ path / }`,
    `http-request set-var(txn.key) var(txn.secret),sha2(256),hex,lower,map(${basename(keysFile)}) if ${found}`,
    // A browser asks without headers of its own before its first call; haproxy.cfg answers that.
    'acl is_preflight method OPTIONS',
    'acl has_body req.body_size gt 0',
    `http-request set-var(txn.refused) str(key) if !is_refused ${unknown} has_body`,
    `http-request set-var(txn.refused) str(key) if !is_refused ${unknown} !is_preflight`,
    'http-request unset-var(txn.secret)',
    'http-request del-header X-API-Key',
    'http-request set-uri /',
    `http-request track-sc2 var(txn.key) table key_limits if ${known}`,
  ];
}

/** What a monitor asks is known once the body was read: its question alone needs no key. */
function monitorRefusals({ key_required }: Pick<Gateway, 'key_required'>): string[] {
  if (!key_required) return [];
  const others = `${isMonitor} !${known} !{ var(txn.method) -m str eth_blockNumber }`;
  return ['has_body', '!is_preflight'].map(
    (condition) => `http-request set-var(txn.refused) str(key) if !is_refused ${others} ${condition}`,
  );
}
