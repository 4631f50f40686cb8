import type { Variables } from '../variables/variables.ts';

type Gateway = Variables['gateway'];

/** A table of HAProxy has one entry for an IPv4 address, and for an IPv6 /64. */
const client = 'src,ipmask(32,64)';

/**
 * Rules of HAProxy for a new connection: who the client is, where a trusted one says so by the
 * PROXY protocol, and how many connections a client has. An address that is trusted to name
 * clients in a header has many of them, which requests count.
 */
export function connectionRules({ clients, trusted }: Pick<Gateway, 'clients' | 'trusted'>): string[] {
  const limit = `reject if { sc0_conn_cur gt ${clients.connections} }`;
  const counted = `track-sc0 ${client} table clients`;
  if (!trusted) return [`tcp-request connection ${counted}`, `tcp-request connection ${limit}`];
  const isTrusted = `{ src ${trusted.addresses.join(' ')} }`;
  const others = [`tcp-request connection ${counted} unless ${isTrusted}`, `tcp-request connection ${limit}`];
  if (trusted.client_in !== 'PROXY') return others;
  return [
    `tcp-request connection expect-proxy layer4 if ${isTrusted}`,
    ...others,
    // Only now the client is known.
    `tcp-request session ${counted} unless { sc0_tracked }`,
    `tcp-request session ${limit}`,
  ];
}

/** The hops of X-Forwarded-For that are looked through, the last one first. */
const hops = [-1, -2, -3];

/**
 * Rules of HAProxy for a request: the client is the one that a trusted address names in a header.
 * Of X-Forwarded-For the last entry counts, which the trusted one has written; where that is
 * trusted, too, the one before it.
 */
export function requestRules({ clients, trusted }: Pick<Gateway, 'clients' | 'trusted'>): string[] {
  if (!trusted || trusted.client_in === 'PROXY') return [];
  const header = trusted.client_in;
  const addresses = trusted.addresses.join(' ');
  const places = header === 'X-Forwarded-For' ? hops : [-1];
  const isTrusted = (place: number) => `{ req.hdr(${header},${place}) -m ip ${addresses} }`;
  return [
    ...places.map((place, at) => {
      const conditions = [`{ src ${addresses} }`, ...places.slice(0, at).map(isTrusted)];
      return `http-request set-src req.hdr(${header},${place}) if ${conditions.join(' ')}`;
    }),
    `http-request track-sc0 ${client} table clients`,
    `http-request set-var(txn.refused) str(connections) if { sc0_conn_cur gt ${clients.connections} }`,
  ];
}
