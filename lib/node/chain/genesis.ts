import * as z from 'zod';
import { parseJson } from '../../engine/text/parse-json.ts';
import { type Generation, generations } from '../variables/generation.ts';

const bytes = (count: number) =>
  z.string().regex(new RegExp(`^0x[0-9a-fA-F]{${2 * count}}$`), `must be ${count} bytes in hex, 0x…`);
const hex = z.string().regex(/^0x([0-9a-fA-F]{2})*$/, 'must be bytes in hex, 0x…');
/** Text, as it may exceed a JSON number. */
const amount = z.string().regex(/^(\d+|0x[0-9a-fA-F]+)$/, 'must be a whole number as text');
const word = z.string().regex(/^0x[0-9a-fA-F]{1,64}$/, 'must be a number of up to 32 bytes in hex, 0x…');
const block = z.int('must be a whole number').nonnegative('must not be negative');

const account = z
  .looseObject({
    balance: amount,
    nonce: amount,
    address: bytes(20),
    bytecode: hex.optional(),
    contractName: z.string().min(1, 'must not be empty').optional(),
    accountName: z.string().min(1, 'must not be empty').optional(),
    storage: z.record(word, word).optional(),
  })
  .refine(({ contractName, accountName }) => contractName !== undefined || accountName !== undefined, {
    path: ['contractName'],
    message: 'is missing, and so is accountName',
  })
  .refine(({ contractName, bytecode }) => contractName === undefined || bytecode !== undefined, {
    path: ['bytecode'],
    message: 'is missing, though contractName says that it is a contract',
  });

/**
 * What is wrong with a genesis file: each fault with the name of its field; an empty list where it
 * is sound. The node itself accepts an empty object, an empty `genesis`, any `root` or another
 * generation's keys silently, and then synchronizes nonsense.
 *
 * @param text the whole file
 * @param wanted keys of the generation, and the chain id of the network
 */
export function genesisFaults(
  text: string,
  wanted: Pick<Generation, 'genesisBlocks' | 'genesisContracts'> & { readonly chainId: number },
): string[] {
  const genesis = parseJson(text);
  if (genesis === undefined) return ['it is not valid JSON'];
  const schema = z.looseObject({
    root: bytes(32),
    ...Object.fromEntries(wanted.genesisBlocks.map((key) => [key, block])),
    l1Config: z.looseObject({
      chainId: z.literal(wanted.chainId, `must be ${wanted.chainId}, as the inventory says`),
      ...Object.fromEntries(wanted.genesisContracts.map((key) => [key, bytes(20)])),
    }),
    genesis: z.array(account).min(1, 'is empty'),
  });
  const result = schema.safeParse(genesis);
  if (result.success) return twice(result.data.genesis.map(({ address }) => address.toLowerCase()));
  const faults = result.error.issues.map((issue) => {
    const name = nameOf(issue.path);
    if (valueAt(genesis, issue.path) === undefined && issue.code !== 'custom') return `${name} is missing`;
    if (issue.code === 'invalid_key')
      return `${name}: this key ${issue.issues[0]?.message ?? 'is not allowed'}`;
    if (issue.code === 'invalid_type' && issue.path.length === 0) return 'it is not a JSON object';
    return `${name} ${issue.code === 'invalid_type' && !issue.message.startsWith('must') ? `must be ${typeNames[issue.expected] ?? issue.expected}` : issue.message}`;
  });
  return [...faults, ...foreignKeys(genesis, wanted)];
}

/** Keys of another generation: the file was made for that one. */
function foreignKeys(
  genesis: unknown,
  wanted: Pick<Generation, 'genesisBlocks' | 'genesisContracts'>,
): string[] {
  return Object.entries(generations).flatMap(([name, { genesisBlocks, genesisContracts }]) => {
    const blocks = genesisBlocks.filter((key) => !wanted.genesisBlocks.includes(key)).map((key) => [key]);
    const contracts = genesisContracts.filter((key) => !wanted.genesisContracts.includes(key));
    return [...blocks, ...contracts.map((key) => ['l1Config', key])]
      .filter((path) => valueAt(genesis, path) !== undefined)
      .map((path) => `${nameOf(path)} is a key of the ${name} generation`);
  });
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'text',
  object: 'an object',
  array: 'a list',
  record: 'an object',
};

function twice(addresses: readonly string[]): string[] {
  const places = new Map<string, number>();
  return addresses.flatMap((address, i) => {
    const first = places.get(address);
    if (first === undefined) places.set(address, i);
    return first === undefined ? [] : [`genesis[${i}].address is that of genesis[${first}]`];
  });
}

/** `genesis[0].address` */
const nameOf = (path: readonly PropertyKey[]): string => z.core.toDotPath(path);

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, step) => Object(at)[step], value);
}
