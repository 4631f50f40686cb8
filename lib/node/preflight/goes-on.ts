import type { Reader } from '../../engine/host/host.ts';
import type { Context } from '../../engine/resource/role.ts';
import type { NodeContainer } from '../variables/services.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * Whether a server goes on with the data that it has while a chain is away: it was deployed with
 * this address, or takes the place of another by a switch or a recovery.
 *
 * @param url of the chain
 * @param names of the containers that a deployed server has
 */
export async function goesOn(
  reader: Reader,
  { vars, given }: Pick<Context<Variables>, 'vars' | 'given'>,
  url: string,
  names: readonly NodeContainer[],
): Promise<boolean> {
  const [settings, ...containers] = await Promise.all([
    reader.read(`${vars.paths.deployment}/node.config.toml`),
    ...names.map((name) => reader.container(name)),
  ]);
  const takesOver = given.to !== undefined || given['to-time'] !== undefined;
  const isThere = containers.every((state) => state !== undefined);
  return takesOver || (isThere && settings?.includes(`"${url}"`) === true);
}
