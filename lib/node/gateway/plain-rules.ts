import { basename } from 'node:path/posix';
import type { Variables } from '../variables/variables.ts';
import { requestsFile } from './paths.ts';

type Gateway = Pick<Variables['gateway'], 'clients' | 'methods' | 'keys'>;

/** Most requests in a second of the keys for which the methods of all clients hold. */
export function requestsOfKeys({ clients, keys }: Gateway): string {
  return keys
    .filter(({ methods }) => !methods)
    .map(({ name, requests }) => `${name} ${requests ?? clients.requests}\n`)
    .join('');
}

/**
 * Lines of haproxy.cfg by which HAProxy judges a plain call itself: one of a method that the
 * client may use, that is not heavy and has no limit of its own. Keys with methods of their own
 * have no plain calls: templates/gateway/calls.lua knows their methods.
 */
export function plainRules(gateway: Gateway) {
  const { methods, keys, clients } = gateway;
  const special = [...methods.deny, ...methods.heavy, ...Object.keys(methods.limits)];
  const conditions = [
    ...(methods.allow ? [`{ var(txn.method) ${matchOf(methods.allow)} }`] : []),
    ...(special.length === 0 ? [] : [`!{ var(txn.method) ${matchOf(special)} }`]),
  ];
  const hasKey = keys.length === 0 ? '' : ' !{ var(txn.key) -m found }';
  const ofKeys = `var(txn.key),map_str_int(${basename(requestsFile)})`;
  const lines = [
    `http-request set-var(txn.most) int(${clients.requests}) if is_one${hasKey}`,
    ...(requestsOfKeys(gateway) === ''
      ? []
      : [`http-request set-var(txn.most) ${ofKeys} if is_one { var(txn.key) -m found }`]),
    ['http-request set-var(txn.plain) bool(true) if is_one { var(txn.most) -m found }', ...conditions].join(
      ' ',
    ),
  ];
  return { plain_methods: lines.map((line) => `    ${line}`).join('\n') };
}

/** In any case, as calls.lua matches them. */
function matchOf(names: readonly string[]): string {
  const patterns = new Set(names.map((name) => name.toLowerCase().replaceAll('*', '.*')));
  return `-m reg -i ^(${[...patterns].join('|')})$`;
}
