import { parseArgs } from 'node:util';
import { didYouMean, suggest } from '../inventory/suggest.ts';
import { Problem } from '../problem.ts';

/** What an operator may say on the command line of a playbook. */
export interface Options {
  /** undefined: the embedded lab. */
  readonly inventory: string | undefined;
  readonly check: boolean;
  readonly limit: string | undefined;
  /** Empty: all roles. */
  readonly roles: readonly string[];
  readonly forks: number;
  readonly askBecomePass: boolean;
  readonly verbose: boolean;
  readonly help: boolean;
}

const known = {
  inventory: { type: 'string', short: 'i' },
  check: { type: 'boolean' },
  limit: { type: 'string', short: 'l' },
  role: { type: 'string', multiple: true },
  forks: { type: 'string', short: 'f' },
  'ask-become-pass': { type: 'boolean' },
  verbose: { type: 'boolean', short: 'v' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** As Ansible's, but five times as many: a host costs one connection here, not a process. */
const defaultForks = 25;

/**
 * Reads a playbook's options, strictly.
 *
 * @param args what follows the script's name
 * @param roleNames the roles of the playbook, for `--role`
 * @throws Problem for an unknown or misspelt option, a missing or extra word, a role the playbook has not
 */
export function parseOptions(args: readonly string[], roleNames: readonly string[]): Options {
  for (const arg of args) refuseUnknown(arg);
  const { values, positionals } = read(args);
  const [extra] = positionals;
  if (extra !== undefined) {
    throw new Problem(`unexpected word "${extra}"`, { hint: 'options start with --; see --help' });
  }
  const roles = values.role ?? [];
  for (const role of roles) {
    if (roleNames.includes(role)) continue;
    throw new Problem(`unknown role "${role}"`, { hint: didYouMean(role, roleNames) });
  }
  return {
    inventory: values.inventory,
    check: values.check ?? false,
    limit: values.limit,
    roles,
    forks: parseForks(values.forks),
    askBecomePass: values['ask-become-pass'] ?? false,
    verbose: values.verbose ?? false,
    help: values.help ?? false,
  };
}

function read(args: readonly string[]) {
  try {
    const parsed = parseArgs({ args: [...args], options: known, strict: true, allowPositionals: true, tokens: true });
    refuseTwice(parsed.tokens, ['role']);
    return parsed;
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(firstSentence(error), { hint: 'see --help' });
  }
}

/** Of two values one would be left out, without a word. @param multiple options that take several */
export function refuseTwice(
  tokens: readonly { readonly kind: string; readonly name?: string; readonly value?: string | undefined }[],
  multiple: readonly string[] = [],
): void {
  const seen = new Set<string>();
  for (const { kind, name, value } of tokens) {
    if (kind !== 'option' || name === undefined || value === undefined || multiple.includes(name)) continue;
    if (seen.has(name)) throw new Problem(`--${name} stands here twice`, { hint: 'keep one of the two' });
    seen.add(name);
  }
}

/** What Node says about arguments goes on with advice on how to have it otherwise. */
export function firstSentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split(/\. |\n/)[0] ?? message;
}

function refuseUnknown(arg: string): void {
  if (!arg.startsWith('--') || arg === '--') return;
  const name = arg.slice(2).split('=')[0] ?? '';
  if (name in known) return;
  const meant = suggest(name, Object.keys(known));
  throw new Problem(`unknown option "--${name}"`, { hint: meant ? `did you mean --${meant}?` : 'see --help' });
}

function parseForks(text: string | undefined): number {
  if (text === undefined) return defaultForks;
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new Problem(`--forks ${text}: must be a whole number from 1 to 9999`);
}
