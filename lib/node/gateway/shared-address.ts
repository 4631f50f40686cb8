import { readFileSync } from 'node:fs';
import { file } from '../../engine/resource/file/file.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { service } from '../../engine/resource/system/service.ts';
import type { RenderContext } from '../render/render-context.ts';
import { addressProgram } from './paths.ts';
import { sharedAddressFile } from './render.ts';

const settings = '/etc/keepalived/keepalived.conf';
const program = readFileSync(new URL('../../../templates/host/may-have-address.sh', import.meta.url));

/** An address that one of the gateways has at a time (VRRP), where the inventory has one. */
export function addressIsShared(context: RenderContext): Resource[] {
  const content = sharedAddressFile(context);
  if (content === undefined) return [];
  return [
    isNotAnothers(content),
    packages('keepalived'),
    file(addressProgram).content(program).mode(0o755),
    file(settings).content(content),
    service('keepalived', [settings]),
  ];
}

/** The first line of `content` says who wrote it. */
function isNotAnothers(content: string): Resource {
  const [mark = ''] = content.split('\n');
  return expectation(`${settings} is not somebody else's`, {
    check: async (host) => {
      const found = await host.read(settings);
      return found === undefined || found.toString().startsWith(mark)
        ? ok
        : drift('it was not written by this tool');
    },
    hint: `remove gateway.shared from the inventory, or move the file: mv ${settings} ${settings}.old`,
  });
}
