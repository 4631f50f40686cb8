import { duration, type Kind, type Leaf } from '../../../engine/template/outline.ts';
import { textFault } from '../../../engine/template/template.ts';

/** Why an override is refused; the text follows the key's name. */
export interface Refusal {
  readonly what: string;
  readonly hint?: string;
}

/** A part of a JSON Schema. */
type JsonSchema = Readonly<Record<string, unknown>>;

interface KindRule {
  /** The requirement, after `must be`. */
  readonly words: string;
  readonly schema: JsonSchema;
  accepts(value: unknown): boolean;
}

const durationWords = 'a duration with its unit, such as 30s or 5m';

/** The requirement for each type. The programs accept no negative numbers. */
export const kinds: Readonly<Record<Kind, KindRule>> = {
  boolean: {
    words: 'true or false',
    schema: { type: 'boolean' },
    accepts: (value) => typeof value === 'boolean',
  },
  'whole number': {
    words: 'a whole number',
    schema: { type: 'integer', minimum: 0 },
    accepts: Number.isInteger,
  },
  number: {
    words: 'a number',
    schema: { type: 'number', minimum: 0 },
    accepts: (value) => typeof value === 'number',
  },
  duration: {
    words: durationWords,
    schema: { type: 'string', pattern: duration.source, patternErrorMessage: `must be ${durationWords}` },
    accepts: (value) => typeof value === 'string' && duration.test(value),
  },
  text: { words: 'text', schema: { type: 'string' }, accepts: (value) => typeof value === 'string' },
  list: { words: 'a list', schema: { type: 'array' }, accepts: Array.isArray },
};

/**
 * Keys for which the node accepts only some values (spec part 2, section Log; the levels are those
 * of its logger, zap). With another one for L1SynchronizationMode, sync ends at its start.
 */
export const choices: Readonly<Record<string, readonly string[]>> = {
  'Log.Environment': ['production', 'development'],
  'Log.Level': ['debug', 'info', 'warn', 'error', 'dpanic', 'panic', 'fatal'],
  'Synchronizer.L1SynchronizationMode': ['sequential', 'parallel'],
};

/** Where the node listens in its container, whose address Docker chooses. */
const everyAddress = {
  value: '0.0.0.0',
  why: 'at another address the node does not start, or its published port reaches nothing; firewall in the inventory says who may connect',
};

/** Keys with one value that works, each with the reason. */
const fixed: Readonly<Record<string, { readonly value: boolean | string; readonly why: string }>> = {
  'RPC.Host': everyAddress,
  'RPC.WebSockets.Host': everyAddress,
  'Metrics.Host': everyAddress,
  IsTrustedSequencer: {
    value: false,
    why: 'this node is never a sequencer: it follows the trusted one',
  },
  runExecutorServer: { value: true, why: 'the node has its blocks executed by it' },
  runHashDBServer: { value: true, why: "the node asks it for the chain's state" },
};

/** The node keeps these in 32 bits: 4294967296 becomes 0 without a message. */
const in32Bits =
  /^State\.Batch\.Constraints\.(MaxKeccakHashes|MaxPoseidonHashes|MaxPoseidonPaddings|MaxMemAligns|MaxArithmetics|MaxBinaries|MaxSteps|MaxSHA256Hashes)$/;

/** Whether the value of a key is a TCP port. */
export function isPort(key: string): boolean {
  return /port$/i.test(key);
}

export const mostPort = 65_535;

/** With 0, json-rpc refuses what its clients ask: a deploy waits for it in vain. */
const requestsOfClient = 'RPC.MaxRequestsPerIPAndSecond';

/** The smallest and largest number for a key. */
export function limitsOf(key: string): { readonly minimum: number; readonly maximum?: number } {
  if (isPort(key)) return { minimum: 1, maximum: mostPort };
  if (key === requestsOfClient) return { minimum: 1 };
  return in32Bits.test(key) ? { minimum: 0, maximum: 0xffff_ffff } : { minimum: 0 };
}

/**
 * Why an override's value is refused, or undefined. The programs do not report it: the node
 * truncates 1.5 to 1, wraps -1 to the largest number and ends on a duration with no unit; the
 * prover takes its default for a wrong type.
 *
 * @param leaf the value that it replaces; undefined for a key that the template does not have
 */
export function refusal(
  path: readonly string[],
  value: unknown,
  leaf: Leaf | undefined,
): Refusal | undefined {
  if (value === null) return { what: 'has no value' };
  if (path.some((key) => /passw/i.test(key))) {
    return { what: 'is a password, and an inventory must not contain passwords' };
  }
  if (!Array.isArray(value)) {
    return (
      scalarFault(value) ??
      (leaf && (kindFault(value, leaf.kind) ?? rangeFault(path.join('.'), value, leaf.kind)))
    );
  }
  if (leaf && leaf.kind !== 'list') return { what: `must be ${kinds[leaf.kind].words}, not a list` };
  if (new Set(value.map((item) => typeof item)).size > 1)
    return { what: 'must be a list of values of one kind' };
  if (value.some((item) => typeof item === 'object')) return { what: 'must be a list of single values' };
  const fault = value.map(scalarFault).find((each) => each !== undefined);
  if (fault) return fault;
  const items = leaf?.items && kinds[leaf.items];
  return !items || value.every(items.accepts)
    ? undefined
    : { what: `must be a list in which each value is ${items.words}` };
}

function scalarFault(value: unknown): Refusal | undefined {
  if (typeof value === 'string') {
    const fault = textFault(value);
    return fault === undefined ? undefined : { what: fault };
  }
  if (typeof value !== 'number')
    return typeof value === 'boolean' ? undefined : { what: 'must be one value' };
  return Number.isSafeInteger(Math.trunc(value))
    ? undefined
    : { what: 'is a number that cannot be written exactly' };
}

function kindFault(value: unknown, kind: Kind): Refusal | undefined {
  const { accepts, words } = kinds[kind];
  if (accepts(value)) return undefined;
  const what = `must be ${words}`;
  if (kind === 'text') return { what, hint: 'write the value in quotes' };
  const isQuoted = /number/.test(kind) && typeof value === 'string' && /^-?[\d.]+$/.test(value);
  return isQuoted ? { what: `${what}, not text`, hint: 'write the value without quotes' } : { what };
}

/** A value of the right type can still be one that the program does not accept for that key. */
function rangeFault(key: string, value: unknown, kind: Kind): Refusal | undefined {
  const only = fixed[key];
  if (only && value !== only.value) return { what: `must be ${only.value}`, hint: only.why };
  if (typeof value === 'number') {
    const { minimum, maximum = Number.POSITIVE_INFINITY } = limitsOf(key);
    if (minimum <= value && value <= maximum) return undefined;
    if (value < 0) return { what: 'must not be negative' };
    if (isPort(key)) return { what: `must be a port, 1 to ${mostPort}` };
    return key === requestsOfClient
      ? { what: `must be at least ${minimum}`, hint: 'with 0, json-rpc refuses what its clients ask' }
      : { what: `must be at most ${maximum}` };
  }
  const allowed = choices[key];
  if (allowed && !allowed.includes(String(value))) return { what: `must be one of ${allowed.join(', ')}` };
  const isTooLong = kind === 'duration' && nanoseconds(String(value)) > longestDuration;
  return isTooLong ? { what: 'must be at most 2562047h, the longest that Go has' } : undefined;
}

/** Maximum of Go's time.Duration, 64 bits. Nanoseconds. */
const longestDuration = 2n ** 63n - 1n;

const second = 10n ** 9n;
const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: second,
  m: 60n * second,
  h: 3600n * second,
};

function nanoseconds(text: string): bigint {
  return [...text.matchAll(/(\d+)(?:\.(\d+))?(\D+)/g)].reduce(
    (sum, [, whole = '', fraction = '', unit = '']) => {
      const one = units[unit] ?? 0n;
      return sum + BigInt(whole) * one + (BigInt(fraction || 0) * one) / 10n ** BigInt(fraction.length);
    },
    0n,
  );
}
