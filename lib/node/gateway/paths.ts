import { product } from '../server/product.ts';

/** Folder of HAProxy's files on a gateway, beside the distribution's own /etc/haproxy. */
export const gatewayFolder = `/etc/${product}/gateway`;

/** A file here takes the RPC host of its name out; its first line is the reason. HAProxy sees it as /drained, from its chroot. */
export const drainedFolder = '/var/lib/haproxy/drained';

/** Drains RPC hosts at this gateway, and shows who may serve. */
export const gatewayProgram = `/usr/local/lib/${product}/gateway`;
