import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { basename } from 'node:path/posix';
import { type Content, secretContent } from '../../engine/resource/file/content.ts';
import { filledTemplate, judgingScript } from '../server/haproxy-files.ts';
import { layer1Urls } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';
import { layer1Chroot, layer1Folder } from './paths.ts';

/** A file of the HAProxy that chooses the provider of layer 1. */
export interface Layer1File {
  readonly path: string;
  readonly content: Content | string;
}

/** A provider, as HAProxy's files and `status` name it. */
interface Provider {
  /** Its place in the list, from 1 on. */
  readonly name: string;
  /** Its host, without the path, which may hold a key. */
  readonly shown: string;
  readonly url: URL;
}

/**
 * The files of the HAProxy that chooses the provider of layer 1, from templates/layer1: its
 * configuration, the script that judges the providers, and their paths, which may hold keys.
 *
 * @returns the configuration apart from what it reads, and the hash of all of them, by which the
 * running HAProxy names its files
 */
export function layer1Files(vars: Pick<Variables, 'network' | 'ports'>): {
  readonly main: Layer1File;
  readonly others: readonly Layer1File[];
  readonly hash: string;
} {
  const providers = providersOf(vars);
  const script = judgingScript('layer1/layer1.lua');
  const paths = providers.map(({ name, url }) => `${name} ${url.pathname}${url.search}\n`).join('');
  const values = {
    chroot: layer1Chroot,
    chain_id: String(vars.network.chain_id),
    names: providers.map(({ shown }) => shown).join(' '),
    port: String(vars.ports.layer1),
    choices: providers.map(({ name }) => `    server ${name} unix@/${name}.sock`).join('\n'),
    providers: providers.map(providerSection).join('\n'),
  };
  const parts = [filledTemplate('layer1/haproxy.cfg', { ...values, hash: '' }), script, paths];
  const hash = createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 16);
  return {
    main: {
      path: `${layer1Folder}/haproxy.cfg`,
      content: filledTemplate('layer1/haproxy.cfg', { ...values, hash }),
    },
    others: [
      { path: `${layer1Folder}/layer1.lua`, content: script },
      { path: `${layer1Folder}/providers.map`, content: secretContent(paths, /./) },
    ],
    hash,
  };
}

function providersOf(vars: Pick<Variables, 'network'>): Provider[] {
  const urls = layer1Urls(vars).map((address) => new URL(address));
  return urls.map((url, at) => {
    const earlier = urls.slice(0, at).filter(({ host }) => host === url.host).length;
    // Two keys at one provider.
    return { name: String(at + 1), shown: earlier === 0 ? url.host : `${url.host}#${earlier + 1}`, url };
  });
}

function providerSection({ name, shown, url }: Provider): string {
  const { protocol, hostname, port, host } = url;
  const isTls = protocol === 'https:';
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  const isName = isIP(address) === 0;
  const sni = isName ? ` sni str(${hostname})` : '';
  const tls = isTls ? ` ssl verify required ca-file @system-ca${sni} verifyhost ${address}` : '';
  // HAProxy prefers IPv6, also where there is no way by it.
  const names = isName ? ' init-addr libc,none resolvers system resolve-prefer ipv4' : '';
  const server = `${hostname}:${port || (isTls ? 443 : 80)}${names}${tls}`;
  return filledTemplate('layer1/provider.cfg', { name, shown, host, server, chroot: layer1Chroot });
}

/** The unit of the HAProxy that chooses the provider of layer 1. */
export function unitFile(): string {
  return filledTemplate('layer1/unit.service', {
    configuration: `${layer1Folder}/haproxy.cfg`,
    runtime: basename(layer1Chroot),
  });
}
