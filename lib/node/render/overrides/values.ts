import { duration, type Kind, type Leaf } from '../../../engine/template/outline.ts';
import type { Scalar } from '../../../engine/template/override.ts';
import { textFault } from '../../../engine/template/template.ts';

/** Why an override is refused, in words that follow the key's name. */
export interface Refusal {
  readonly what: string;
  readonly hint?: string;
}

/** Keys for which the node takes only some values (spec part 2, section Log). */
export const choices: Readonly<Record<string, readonly string[]>> = {
  'Log.Environment': ['production', 'development'],
};

/** The node keeps these in 32 bits: 4294967296 becomes 0 without a message. */
export const in32Bits =
  /^State\.Batch\.Constraints\.(MaxKeccakHashes|MaxPoseidonHashes|MaxPoseidonPaddings|MaxMemAligns|MaxArithmetics|MaxBinaries|MaxSteps|MaxSHA256Hashes)$/;

export const most32Bits = 0xffff_ffff;

/** Whether the value of a key is a TCP port. */
export function isPort(key: string): boolean {
  return /port$/i.test(key);
}

export const mostPort = 65_535;

/**
 * Why an override's value is refused, or undefined. The programs do not report it: the node cuts 1.5 to 1, wraps -1 round to the
 * largest number and ends on a duration with no unit; the prover takes its default for a wrong type.
 *
 * @param leaf the value that it replaces; undefined for a key that the template does not have
 */
export function refusal(path: readonly string[], value: unknown, leaf: Leaf | undefined): Refusal | undefined {
  if (value === null) return { what: 'has no value' };
  if (path.some((key) => /passw/i.test(key))) {
    return { what: 'is a password, and an inventory must not contain passwords' };
  }
  if (Array.isArray(value)) {
    return leaf && leaf.kind !== 'list'
      ? { what: `must be ${inWords[leaf.kind]}, not a list` }
      : listFault(value, leaf?.items);
  }
  if (!isScalar(value)) return { what: 'must be one value' };
  return scalarFault(value) ?? (leaf && (kindFault(value, leaf.kind) ?? rangeFault(path.join('.'), value, leaf.kind)));
}

function listFault(list: readonly unknown[], kind: Kind | undefined): Refusal | undefined {
  if (new Set(list.map((item) => typeof item)).size > 1) return { what: 'must be a list of values of one kind' };
  for (const item of list) {
    if (!isScalar(item)) return { what: 'must be a list of single values' };
    const fault = scalarFault(item);
    if (fault) return fault;
    if (kind && kindFault(item, kind)) return { what: `must be a list in which each value is ${inWords[kind]}` };
  }
  return undefined;
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** What a value must be, after `must be`. */
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
  const isExact = typeof value === 'boolean' || Number.isSafeInteger(Math.trunc(value));
  return isExact ? undefined : { what: 'is a number that cannot be written exactly' };
}

/** Whether a value is of another kind than the template's. */
function kindFault(value: Scalar, kind: Kind): Refusal | undefined {
  const must = { what: `must be ${inWords[kind]}` };
  switch (kind) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : must;
    case 'list':
      return must;
    case 'duration':
      return typeof value === 'string' && duration.test(value) ? undefined : must;
    case 'text':
      return typeof value === 'string' ? undefined : { ...must, hint: 'write it in quotes' };
    case 'number':
    case 'whole number':
      if (typeof value === 'string' && /^-?[\d.]+$/.test(value)) {
        return { what: `${must.what}, not text`, hint: 'write it without quotes' };
      }
      return typeof value === 'number' && (kind === 'number' || Number.isInteger(value)) ? undefined : must;
  }
}

/** Whether a value of the right kind is one that the program does not take for that key. */
function rangeFault(key: string, value: Scalar, kind: Kind): Refusal | undefined {
  if (typeof value === 'boolean') return undefined;
  if (typeof value === 'string') {
    const allowed = choices[key];
    if (allowed && !allowed.includes(value)) return { what: `must be one of ${allowed.join(', ')}` };
    const isTooLong = kind === 'duration' && nanoseconds(value) > longestDuration;
    return isTooLong ? { what: 'must be at most 2562047h, the longest that Go has' } : undefined;
  }
  if (value < 0) return { what: 'must not be negative' };
  if (isPort(key) && (value < 1 || value > mostPort)) return { what: `must be a port, 1 to ${mostPort}` };
  if (in32Bits.test(key) && value > most32Bits) return { what: `must be at most ${most32Bits}` };
  return undefined;
}

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
