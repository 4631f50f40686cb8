import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { parse } from 'yaml';
import { Problem } from '../problem/problem.ts';
import { asStarted } from '../text/as-started.ts';
import { fieldsOf } from '../text/keys.ts';
import { shellWord } from '../text/shell-word.mjs';
import { didYouMean, suggest } from '../text/suggest.ts';

/** One option of a command. */
export interface OptionSpec {
  readonly short?: string;
  /** Its value, as help shows it: `NAME|FILE`. An option without one is a switch. */
  readonly value?: string;
  /** It may be given several times. */
  readonly repeat?: true;
  /** What it does. Further lines are indented. */
  readonly help: string;
  /** The values that a shell offers. */
  readonly completes?: 'inventory' | 'host' | 'role' | 'file' | readonly string[];
}

/** The options of a command by their long names, in the order of its help. */
export type OptionTable = Readonly<Record<string, OptionSpec>>;

/** Options that several commands share. */
export const shared = {
  inventory: {
    short: 'i',
    value: 'NAME|FILE',
    help: 'inventory/NAME.yaml or a file; lab: the embedded lab, which runs on this machine',
    completes: 'inventory',
  },
  limit: {
    short: 'l',
    value: 'PATTERN',
    help: 'only these hosts: names, groups, globs; a,b both; !a not; &a in both; name[1:3]',
    completes: 'host',
  },
  identity: {
    value: 'FILE',
    help: 'private key that opens the secrets file; default: your SSH keys and others (docs/secrets.md)',
    completes: 'file',
  },
  forks: { short: 'f', value: 'N', help: 'number of hosts in parallel (default: 25)' },
  'ask-become-pass': { help: 'ask for the sudo password' },
  json: { help: 'print only events, one JSON object per line (docs/events.md)' },
  'no-color': { help: 'no colours; so do NO_COLOR and CI in the environment' },
  verbose: {
    short: 'v',
    help: 'show tasks that are ok too, the time of slow checks, and stack traces of unexpected errors',
  },
  help: { short: 'h', help: 'show this help' },
} as const satisfies OptionTable;

/**
 * The options as given: a switch is true or false, a value is text or undefined, a repeated one is
 * a list.
 */
export type Given<T extends OptionTable> = {
  readonly [K in keyof T]: T[K] extends { readonly repeat: true }
    ? readonly string[]
    : T[K] extends { readonly value: string }
      ? string | undefined
      : boolean;
};

/**
 * Reads a command line strictly.
 *
 * @param words the allowed words without dashes; none by default
 * @param more whether any other words may follow the first one
 * @returns the options and the words without dashes
 * @throws Problem for an unknown option, a missing or repeated value, and an unexpected word
 */
export function parseCommandLine<T extends OptionTable>(
  args: readonly string[],
  table: T,
  words: readonly string[] = [],
  more = false,
): { readonly given: Given<T>; readonly words: readonly string[] } {
  for (const arg of args) refuseUnknown(arg, table);
  const { values, positionals } = read(args, table);
  const extra = positionals.find((word, i) => !(i === 0 ? words.includes(word) : more));
  if (extra !== undefined) {
    const allowed = words.length > 0 ? didYouMean(extra, words) : meantBy(extra, table, fieldsOf(values));
    const known = words.includes(extra)
      ? `only one word fits here, and ${positionals[0]} is the first`
      : allowed;
    throw new Problem(`unexpected word "${extra}"`, { hint: elsewhere('words', extra) ?? known });
  }
  const given = Object.entries(table).map(([name, { value, repeat }]) => {
    const said = fieldsOf(values)[name];
    const absent = value === undefined ? false : undefined;
    return [name, said ?? (repeat ? [] : absent)];
  });
  return { given: Object.fromEntries(given) as Given<T>, words: positionals };
}

/** What a word without dashes was meant for, where none fits. */
function meantBy(word: string, table: OptionTable, given: Readonly<Record<string, unknown>>): string {
  // A dash as word processors and web pages write it.
  if (/^[\u2010-\u2015\u2212]/.test(word)) return 'an option starts with two plain hyphens, --: type them';
  const takesIt = ({ completes }: OptionSpec) => typeof completes === 'object' && completes.includes(word);
  const [option] = Object.entries(table).find(([, spec]) => takesIt(spec)) ?? [];
  if (option !== undefined) return `did you mean --${option} ${word}?`;
  return 'inventory' in table && given.inventory === undefined
    ? `did you mean --inventory ${shellWord(word)}?`
    : 'options start with --; see --help';
}

function read(args: readonly string[], table: OptionTable) {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { short, value, repeat }]) => {
      const type = value === undefined ? ('boolean' as const) : ('string' as const);
      return [name, { type, ...(short && { short }), ...(repeat && { multiple: true }) }] as const;
    }),
  );
  // Not strict: the checks below have better messages.
  const parsed = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const said = parsed.tokens.filter((token) => token.kind === 'option');
  for (const token of said) refuseMisused(token, table);
  refuseTwice(said, table);
  return parsed;
}

/** An option as it stands on the command line. */
interface Token {
  /** Its long name, also where the short one is given. */
  readonly name: string;
  /** As given: `--limit`, `-l`. */
  readonly rawName: string;
  /** undefined where none is given. */
  readonly value: string | undefined;
  /** Whether the value follows in the same word: `--limit=rpc`. */
  readonly inlineValue: boolean | undefined;
}

function refuseMisused({ name, rawName, value, inlineValue }: Token, table: OptionTable): void {
  const known = Object.hasOwn(table, name) ? table[name] : undefined;
  if (!known) throw unknownOption(rawName, table);
  if (known.value === undefined && value !== undefined) {
    throw new Problem(`--${name} takes no value`, { hint: `write --${name} alone` });
  }
  if (known.value === undefined) return;
  if (value === undefined) throw new Problem(`--${name} needs a value`, { hint: `--${name} ${known.value}` });
  if (!inlineValue && /^-./.test(value)) {
    throw new Problem(`--${name} needs a value, and "${value}" looks like an option`, {
      hint: `--${name} ${known.value}; for a value that begins with a dash, --${name}=VALUE`,
    });
  }
}

/** parseArgs would keep only the last value. */
function refuseTwice(tokens: readonly Token[], table: OptionTable): void {
  const seen = new Set<string>();
  for (const { name, value } of tokens) {
    if (value === undefined || table[name]?.repeat) continue;
    if (seen.has(name)) throw new Problem(`--${name} is given twice`, { hint: 'keep one of the two' });
    seen.add(name);
  }
}

function refuseUnknown(arg: string, table: OptionTable): void {
  if (!arg.startsWith('--') || arg === '--') return;
  const name = arg.slice(2).split('=')[0] ?? '';
  if (!Object.hasOwn(table, name)) throw unknownOption(`--${name}`, table);
}

function unknownOption(said: string, table: OptionTable): Problem {
  const same = elsewhere('options', said);
  const near = said.startsWith('--') ? suggest(said.slice(2), Object.keys(table)) : undefined;
  const meant = same !== undefined && Object.hasOwn(table, same) ? same : near;
  const hint = elsewhere('sentences', said) ?? (meant ? `did you mean --${meant}?` : 'see --help');
  return new Problem(`unknown option "${said}"`, { hint });
}

const elsewhereFile = new URL('../../../templates/command-line/elsewhere.yaml', import.meta.url);

/** What an option or a word of another tool is called here. */
function elsewhere(kind: 'options' | 'sentences' | 'words', said: string): string | undefined {
  const all: Readonly<Record<typeof kind, object>> = parse(readFileSync(elsewhereFile, 'utf8'));
  return new Map<string, string>(Object.entries(all[kind])).get(said);
}

/**
 * Reads the value of an option as a whole number.
 *
 * @throws Problem for anything else
 */
export function wholeNumber(
  option: string,
  text: string | undefined,
  most: number,
  least = 1,
): number | undefined {
  if (text === undefined) return undefined;
  const number = /^(0|[1-9]\d{0,6})$/.test(text) ? Number(text) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new Problem(`${option} ${text}: must be a whole number from ${least} to ${most}`);
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Reads the value of an option as a duration: a number with its unit, `90s`, `5m`, `1h` or `2d`.
 *
 * @returns seconds
 * @throws Problem for anything else
 */
export function durationOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit = 's'] = /^(\d{1,6})([smhd])?$/.exec(text) ?? [];
  const seconds = Number(number) * (unitSeconds[unit] ?? 0);
  if (seconds > 0) return seconds;
  throw new Problem(`${option} ${text}: must be a duration, such as 90s, 5m or 1h`);
}

/** What `--help` prints. */
export interface HelpPage {
  /** `npx zx playbooks/deploy.mjs`. */
  readonly command: string;
  /** Continues the command: `turns bare servers into …`. */
  readonly purpose: string;
  /** The words after the command. Default: `[options]`. */
  readonly usage?: string;
  readonly options: OptionTable;
  readonly examples: readonly string[];
  readonly exits: Readonly<Record<number, string>>;
  /** Further paragraphs. */
  readonly more?: readonly string[];
}

/** The help of a command, with a line for each option. */
export function helpText(page: HelpPage): string {
  const { command, purpose, usage = '[options]', options, examples, exits, more = [] } = page;
  const rows = Object.entries(options).map(([name, { short, value, help }]): [string, string[]] => [
    `${short ? `-${short}, ` : '    '}--${name}${value === undefined ? '' : ` ${value}`}`,
    help.split('\n'),
  ]);
  const width = Math.max(...rows.map(([left]) => left.length));
  const lines = rows.flatMap(([left, [first = '', ...rest]]) => [
    `  ${left.padEnd(width)}  ${first}`,
    ...rest.map((line) => `  ${' '.repeat(width)}  ${line}`),
  ]);
  const codes = Object.entries(exits).map(([code, meaning]) => `  ${code.padStart(3)}  ${meaning}`);
  const parts = [
    [`${command} ${purpose}`],
    [`Usage: ${command} ${usage}`],
    ['Options', ...lines, `  ${'-C DIR'.padEnd(width)}  work in this folder, which has your inventory/`],
    ['Examples', ...examples.map((example) => `  ${command} ${example}`.trimEnd())],
    ['Exit codes', ...codes],
    ...more.map((paragraph) => [paragraph]),
  ];
  const text = `${parts.map((part) => part.join('\n')).join('\n\n')}\n`;
  return asStarted(text);
}
