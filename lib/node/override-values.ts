import { duration, type Kind } from '../template/leaves.ts';
import { textFault } from '../template/template.ts';

/** Why a value cannot stand at a key, in words that follow the key's name. */
export interface Refusal {
  readonly what: string;
  readonly hint?: string;
}

/** Values that the node takes there, where it takes only some (spec part 2, section Log). */
const choices: Readonly<Record<string, readonly string[]>> = { 'Log.Environment': ['production', 'development'] };

/** The node keeps these in 32 bits: 4294967296 becomes 0 there without a word. */
const in32Bits =
  /^State\.Batch\.Constraints\.(MaxKeccakHashes|MaxPoseidonHashes|MaxPoseidonPaddings|MaxMemAligns|MaxArithmetics|MaxBinaries|MaxSteps|MaxSHA256Hashes)$/;

/**
 * Why an override's value is refused, or undefined. The programs do not say: the node cuts 1.5 to 1, wraps -1 round to the largest
 * number and ends on a duration with no unit; the prover takes its default where a type is wrong.
 *
 * @param kind of the value that it replaces; undefined for a key that the template does not have
 */
export function refusal(path: readonly string[], value: unknown, kind: Kind | undefined): Refusal | undefined {
  if (value === null) return { what: 'has no value' };
  if (Array.isArray(value)) {
    if (kind !== undefined && kind !== 'list') return { what: `must be ${inWords[kind]}, not a list` };
    const types = new Set(value.map((item) => typeof item));
    if (types.size > 1) return { what: 'must be a list of values of one kind' };
    const faults = value.map((item) =>
      isScalar(item) ? scalarFault(path, item) : { what: 'must be a list of single values' },
    );
    return faults.find((fault) => fault !== undefined);
  }
  if (!isScalar(value)) return { what: 'must be one value' };
  return scalarFault(path, value) ?? (kind === undefined ? undefined : kindFault(path, value, kind));
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

function scalarFault(path: readonly string[], value: Scalar): Refusal | undefined {
  if (typeof value === 'string') {
    if (/passw/i.test(path.at(-1) ?? '')) return { what: 'is a password, and a password never stands in an inventory' };
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

function kindFault(path: readonly string[], value: Scalar, kind: Kind): Refusal | undefined {
  const must = `must be ${inWords[kind]}`;
  const name = path.join('.');
  switch (kind) {
    case 'boolean':
      return typeof value === 'boolean' ? undefined : { what: must };
    case 'list':
      return { what: must };
    case 'duration':
      return typeof value === 'string' && duration.test(value) ? undefined : { what: must };
    case 'text': {
      if (typeof value !== 'string') return { what: must, hint: 'write it in quotes' };
      const allowed = choices[name];
      if (allowed && !allowed.includes(value)) return { what: `must be one of ${allowed.join(', ')}` };
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
      if (/port$/i.test(name) && (value < 1 || value > 65_535)) return { what: 'must be a port, 1 to 65535' };
      if (in32Bits.test(name) && value > 0xffff_ffff) return { what: `must be at most ${0xffff_ffff}` };
      return undefined;
    }
  }
}
