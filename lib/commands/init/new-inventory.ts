import type { ZodType } from 'zod';
import { addressSchema, hostSchema, namePattern } from '../../engine/inventory/schema.ts';
import { Problem } from '../../engine/problem/problem.ts';

/** A server. Without an address it is still to be filled in. */
export interface NewHost {
  readonly name: string;
  readonly address?: string;
}

/** What is known of a deployment at its start. */
export interface Known {
  readonly database: NewHost;
  readonly rpc: readonly NewHost[];
  readonly user: string | undefined;
}

/**
 * @param text `NAME=ADDRESS` or `ADDRESS`
 * @param standard its name if it has none
 * @throws Problem for what an inventory refuses
 */
export function readHost(option: string, text: string, standard: string): NewHost {
  const [, name = standard, address = ''] = /^(?:([^=]*)=)?(.*)$/s.exec(text) ?? [];
  if (['all', 'database', 'rpc'].includes(name))
    throw new Problem(`${option} ${text}: ${name} means several hosts in a pattern`);
  if (!namePattern.test(name))
    throw new Problem(
      `${option} ${text}: a name starts with a letter or digit and holds only letters, digits, . _ -`,
    );
  return { name, address: accepted(addressSchema, address, `${option} ${text}`) };
}

/**
 * @throws Problem for a user name that an inventory would refuse
 */
export const readUser = (text: string) => accepted(hostSchema.shape.user, text, `--user ${text}`);

function accepted<T>(schema: ZodType<T>, text: string, what: string): T {
  const { data, error } = schema.safeParse(text);
  if (!error) return data;
  const [rule = '', hint] = (error.issues[0]?.message ?? '').split('\n');
  throw new Problem(`${what}: ${rule}`, { hint });
}

const rpcAddress = "      address: '<FILL: address of the RPC server>'";

/**
 * An inventory of ours with the hosts that are known. What is not known stays `<FILL: …>`.
 *
 * @param text of inventory/mainnet.yaml or inventory/testnet.yaml
 */
export function inventoryWith(text: string, { database, rpc, user }: Known): string {
  const hosts = rpc.map(({ name, address }) => {
    // A host of two groups has its settings in one of them.
    if (name === database.name) return `    ${name}:`;
    return `    ${name}:\n${address === undefined ? rpcAddress : `      address: ${address}`}`;
  });
  const filled = text
    .replace(`    rpc-1:\n${rpcAddress}`, hosts.join('\n'))
    .replace('    db-1:\n', `    ${database.name}:\n`)
    .replace("'<FILL: address of the Database+Sync server>'", (fill) => database.address ?? fill);
  return user === undefined
    ? filled
    : filled.replace('# ssh:\n#   user: deploy\n', () => `ssh:\n  user: ${user}\n`);
}
