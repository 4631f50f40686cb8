import { expectation, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { renderHost } from '../render/render.ts';
import { containersMayOpen } from '../server/open-files.ts';
import { portIsFree } from '../server/published-ports.ts';
import type { Variables } from '../variables/variables.ts';
import { beforehand } from './known.ts';

/** The TCP ports that the containers of a host publish are free. */
export async function portsAreFree(context: Context<Variables>): Promise<Resource[]> {
  const tcp = (await renderHost(context)).ports.filter(({ protocol }) => protocol === 'tcp');
  return tcp.flatMap(({ service, published }) => {
    const [first = 0, last = first] = published.split(':').map(Number);
    const numbers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    return numbers.map((port) => {
      const name = `port ${port} is free for ${service}`;
      return beforehand(
        name,
        expectation(name, {
          check: (reader) => portIsFree(reader, { port, container: service }),
          hint: `stop what holds it (ss -lntp "sport = :${port}"), or choose another port in the inventory`,
        }),
      );
    });
  });
}

/** Containers may open as many files as the Compose file of the host says. */
export async function openFilesSuffice(context: Context<Variables>): Promise<Resource[]> {
  const { openFiles: wanted } = await renderHost(context);
  return wanted === 0 ? [] : [containersMayOpen(wanted)];
}
