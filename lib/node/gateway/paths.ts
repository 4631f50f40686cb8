import { product } from '../server/product.ts';

/** Folder of HAProxy's files on a gateway, beside the distribution's own /etc/haproxy. */
export const gatewayFolder = `/etc/${product}/gateway`;

/** Names of API keys by their SHA-256, where there are any. */
export const keysFile = `${gatewayFolder}/keys.map`;

/** Requests in a second of API keys by their names, where any has a limit of its own. */
export const requestsFile = `${gatewayFolder}/requests.map`;

/** The RPC hosts that serve; HAProxy's Lua fills it in memory alone. */
export const servingFile = `${gatewayFolder}/serving.map`;

/** The path at a provider, where one is the fallback. */
export const fallbackFile = `${gatewayFolder}/fallback.map`;

/** HAProxy sees only this folder once it runs. */
export const chroot = '/var/lib/haproxy';

/** Sockets by which HAProxy's filter of WebSocket messages gets them. */
export const messagesFolder = `${chroot}/messages`;

/**
 * A file here takes the RPC host of its name out; its first line is the reason. HAProxy sees it as
 * /drained, from its chroot.
 */
export const drainedFolder = `${chroot}/drained`;

/** Gets the certificate of a gateway from an ACME server. */
export const acmeProgram = `/usr/local/lib/${product}/acme`;

/** What certbot's plugin reads for the DNS, where names are shown to be ours by it. */
export const dnsCredentialsFile = `${gatewayFolder}/dns.credentials`;

/** Those that certbot renews by: they were tried. */
export const triedCredentialsFile = `${gatewayFolder}/dns.tried`;

/**
 * The certificate of a gateway with its key: a given one, or the one by ACME. certbot never
 * touches a given one.
 */
export const certificateFile = (tls: object) => `${gatewayFolder}/${'acme' in tls ? 'acme' : 'tls'}.pem`;

/** Drains RPC hosts at this gateway, and shows who may serve. */
export const gatewayProgram = `/usr/local/lib/${product}/gateway`;

/** Whether a gateway may have the shared address. keepalived runs nothing below a folder that a group may write to, as /usr/local can be. */
export const addressProgram = '/etc/keepalived/may-have-address';
