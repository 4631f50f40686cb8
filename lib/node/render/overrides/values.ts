import { duration, type Kind, type Leaf } from '../../../engine/template/leaves.ts';
import { textFault } from '../../../engine/template/template.ts';

/** Why a value cannot stand at a key, in words that follow the key's name. */
export interface Refusal {
  readonly what: string;
  readonly hint?: string;
}

/** Values that the node takes there, where it takes only some (spec part 2, section Log). */
export const choices: Readonly<Record<string, readonly string[]>> = {
  'Log.Environment': ['production', 'development'],
};

/** The node keeps these in 32 bits: 4294967296 becomes 0 there without a word. */
export const in32Bits =
  /^State\.Batch\.Constraints\.(MaxKeccakHashes|MaxPoseidonHashes|MaxPoseidonPaddings|MaxMemAligns|MaxArithmetics|MaxBinaries|MaxSteps|MaxSHA256Hashes)$/;

export const most32Bits = 0xffff_ffff;

/** Keys whose value is a TCP port. The node has some as text. */
export function isPort(path: readonly string[]): boolean {
  return /port$/i.test(path.at(-1) ?? '');
}

export const mostPort = 65_535;

/**
 * Why an override's value is refused, or undefined. The programs do not say: the node cuts 1.5 to 1, wraps -1 round to the largest
 * number and ends on a duration with no unit; the prover takes its default where a type is wrong.
 *
 * @param leaf the value that it replaces; undefined for a key that the template does not have
 */
export function refusal(
  path: readonly string[],
  value: unknown,
  leaf: Pick<Leaf, 'kind' | 'items'> | undefined,
): Refusal | undefined {
  if (value === null) return { what: 'has no value' };
  if (path.some((key) => /passw/i.test(key))) {
    return { what: 'is a password, and a password never stands in an inventory' };
  }
  if (Array.isArray(value)) return leaf && leaf.kind !== 'list' ? notAList(leaf.kind) : listFault(path, value, leaf);
  if (!isScalar(value)) return { what: 'must be one value' };
  return scalarFault(value) ?? (leaf && kindFault(path, value, leaf.kind));
}

function notAList(kind: Kind): Refusal {
  return { what: `must be ${inWords[kind]}, not a list` };
}

function listFault(path: readonly string[], list: readonly unknown[], leaf: Pick<Leaf, 'items'> | undefined) {
  if (new Set(list.map((item) => typeof item)).size > 1) return { what: 'must be a list of values of one kind' };
  const kind = leaf?.items;
  for (const item of list) {
    if (!isScalar(item)) return { what: 'must be a list of single values' };
    const fault = scalarFault(item);
    if (fault) return fault;
    if (kind && kindFault(path, item, kind)) return { what: `must be a list in which each value is ${inWords[kind]}` };
  }
  return undefined;
}

type Scalar = string | number | boolean;

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** What has to stand there, after `must be`. */
export const inWords: Readonly<Record<Kind, string>> = {
  boolean: 'true or false',
  'whole number': 'a whole number',
  number: 'a number',
  duration: 'a duration with its unit, such as 30s or 5m',
  text: 'text',
  list: 'a list',
};

function scalarFault(value: Scalar): Refusal | undefined {
  if (typeof value === 'string') {
    const fault = textFault(value);
    return fault === undefined ? undefined : { what: fault };
  }
  if (
    typeof value === 'number' &&
    (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value)))
  )
    return { what: 'is a number that does not come through exactly' };
  return undefined;
}

const portRule = `must be a port, 1 to ${mostPort}`;

/** Of Go's time.Duration, 64 bits. Nanoseconds. */
const longestDuration = 2n ** 63n - 1n;

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

function nanoseconds(text: string): bigint {
  return [...text.matchAll(/(\d+)(?:\.(\d+))?(\D+)/g)].reduce((sum, [, whole = '', fraction = '', unit = '']) => {
    const one = units[unit] ?? 0n;
    return sum + BigInt(whole) * one + (BigInt(fraction || 0) * one) / 10n ** BigInt(fraction.length);
  }, 0n);
}

function kindFault(path: readonly string[], value: Scalar, kind: Kind): Refusal | undefined {
  const must = `must be ${inWords[kind]}`;
  const name = path.join('.');
  switch (kind) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : { what: must };
    case 'list':
      return { what: must };
    case 'duration':
      if (typeof value !== 'string' || !duration.test(value)) return { what: must };
      return nanoseconds(value) > longestDuration
        ? { what: 'must be at most 2562047h, the longest that Go has' }
        : undefined;
    case 'text': {
      if (typeof value !== 'string') return { what: must, hint: 'write it in quotes' };
      const allowed = choices[name];
      if (allowed && !allowed.includes(value)) return { what: `must be one of ${allowed.join(', ')}` };
      if (isPort(path) && !(/^[1-9]\d{0,4}$/.test(value) && Number(value) <= mostPort)) return { what: portRule };
      return undefined;
    }
    case 'number':
    case 'whole number': {
      if (typeof value !== 'number') {
        return typeof value === 'string' && /^-?[\d.]+$/.test(value)
          ? { what: `${must}, not text`, hint: 'write it without quotes' }
          : { what: must };
      }
      if (kind === 'whole number' && !Number.isInteger(value)) return { what: must };
      if (value < 0) return { what: 'must not be negative' };
      if (isPort(path) && (value < 1 || value > mostPort)) return { what: portRule };
      if (in32Bits.test(name) && value > most32Bits) return { what: `must be at most ${most32Bits}` };
      return undefined;
    }
  }
}
