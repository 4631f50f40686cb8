import { file } from '../lib/engine/resource/file/file.ts';
import { drift, expectation, ok } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { packages } from '../lib/engine/resource/system/packages.ts';
import { service } from '../lib/engine/resource/system/service.ts';
import { sharedAddressFile } from '../lib/node/gateway/render.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const settings = '/etc/keepalived/keepalived.conf';

/** An address that one of the gateways has at a time (VRRP). */
export default role<Variables>('gateway-address', (context) => {
  const content = sharedAddressFile(context);
  if (content === undefined) return [];
  const [mark = ''] = content.split('\n');
  return [
    expectation(`${settings} is not somebody else's`, {
      check: async (host) => {
        const found = await host.read(settings);
        return found === undefined || found.toString().startsWith(mark) ? ok : drift('it was not written by this tool');
      },
      hint: `remove gateway.shared from the inventory, or move the file: mv ${settings} ${settings}.old`,
    }),
    packages('keepalived'),
    file(settings).content(content),
    service('keepalived', [settings]),
  ];
});
