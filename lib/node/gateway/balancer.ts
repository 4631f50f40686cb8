import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { command } from '../../engine/host/step.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { eventually } from '../../engine/resource/job/eventually.ts';
import { driftOf, fileChange, type Resource } from '../../engine/resource/resource.ts';
import { dropIn } from '../../engine/resource/system/drop-in.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import type { RenderContext } from '../render/render-context.ts';
import { product } from '../server/product.ts';
import { accessOfRoute53, dnsPackages } from './dns-credentials.ts';
import { haproxyEnvironment } from './environment.ts';
import { anyServes, checkedFiles, runsWith } from './haproxy.ts';
import {
  acmeProgram,
  certificateFile,
  dnsCredentialsFile,
  drainedFolder,
  fallbackFile,
  gatewayFolder,
  gatewayProgram,
  keysFile,
  messagesFolder,
  triedCredentialsFile,
} from './paths.ts';
import { gatewayFiles } from './render.ts';

const program = readFileSync(new URL('../../../templates/host/gateway.sh', import.meta.url));
const acme = readFileSync(new URL('../../../templates/host/acme.sh', import.meta.url));
/** The distribution's own configuration stays, unused. */
const environment = Object.entries(haproxyEnvironment).map(([name, value]) => `Environment=${name}=${value}`);
/** After a start it has asked all hosts within some seconds. */
const servesWithin = 20;

/**
 * HAProxy runs in front of the RPC servers of `hosts`, and sends clients to one of them at least.
 */
export function balancerServes({
  host,
  vars,
  hosts,
}: Pick<RenderContext, 'host' | 'vars' | 'hosts'>): Resource[] {
  const { files, hash } = gatewayFiles({ host, vars, hosts });
  const { metrics, tls } = vars.gateway;
  const isAcme = tls && 'acme' in tls;
  const dns = isAcme ? tls.acme.dns : undefined;
  return [
    packages('haproxy', 'socat', 'curl', ...(isAcme ? ['certbot', 'openssl'] : []), ...dnsPackages(dns)),
    directory(dirname(gatewayFolder)),
    directory(gatewayFolder).mode(0o700),
    directory(drainedFolder),
    directory(messagesFolder),
    directory(dirname(gatewayProgram)),
    file(gatewayProgram).content(program).mode(0o755),
    ...(isAcme ? [file(acmeProgram).content(acme).mode(0o755), placeholder(certificateFile(tls))] : []),
    checkedFiles(files),
    dropIn('haproxy.service', product, ['[Service]', ...environment, ''].join('\n')),
    runsWith(files, hash, metrics),
    ...(vars.gateway.keys.length === 0 ? [without('API key', keysFile)] : []),
    ...(vars.gateway.fallback ? [] : [without('fallback', fallbackFile)]),
    ...(dns
      ? []
      : [dnsCredentialsFile, triedCredentialsFile].map((path) => without('key for the DNS', path))),
    ...(dns?.plugin === 'route53' ? [] : [without('setting of Route 53', accessOfRoute53)]),
    eventually('an RPC host may serve', (reader) => anyServes(reader, metrics), {
      seconds: servesWithin,
      hint: `see on the gateway: ${gatewayProgram} fleet ${metrics}`,
    }),
  ];
}

/** What is gone from the inventory does not stay behind. */
function without(what: string, path: string): Resource {
  return {
    name: `no ${what} is left`,
    changes: () => [fileChange(path)],
    async check(host) {
      const differences = (await host.stat(path)) ? [{ what: path, was: 'a file', wanted: 'absent' }] : [];
      return driftOf(differences, [command`rm -f ${path}`]);
    },
  };
}

/**
 * HAProxy does not start without a certificate, and certbot gets one through HAProxy: role
 * gateway-certificate replaces it.
 */
function placeholder(path: string): Resource {
  return {
    name: `HAProxy has a certificate to start with`,
    changes: () => [fileChange(path)],
    async check(host) {
      const differences = (await host.stat(path))
        ? []
        : [{ what: path, was: 'absent', wanted: 'a placeholder' }];
      return driftOf(differences, [command`${acmeProgram} placeholder`]);
    },
  };
}
