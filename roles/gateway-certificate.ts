import { role } from '../lib/engine/resource/role.ts';
import { service } from '../lib/engine/resource/system/service.ts';
import { certificateIsIssued } from '../lib/node/gateway/certificate.ts';
import { dnsCredentials } from '../lib/node/gateway/dns-credentials.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The certificate of a gateway by ACME. All gateways answer challenges by now, and the shared
 * address is there.
 */
export default role<Variables>('gateway-certificate', ({ vars: { gateway } }) =>
  gateway.tls && 'acme' in gateway.tls
    ? [...dnsCredentials(gateway.tls.acme.dns), service('certbot.timer'), certificateIsIssued(gateway.tls)]
    : [],
);
