import type { Terminal } from '../../engine/output/terminal.ts';
import { type Place, Problem } from '../../engine/problem/problem.ts';
import type { Keys } from '../../engine/secret/age/identities.ts';
import type { AllowedIn, SecretValues } from '../../engine/secret/secret-values.ts';
import { type Lock, recipientsFileOf } from '../../engine/secret/secrets-file.ts';
import { didYouMean } from '../../engine/text/suggest.ts';
import type { SecretsOptions } from './options.ts';
import type { Store } from './store.ts';

/** One password of the deployment. */
export interface WantedPassword {
  readonly name: string;
  /** Where it belongs in an inventory. */
  readonly path: string;
  /** Where the inventory still refers to something else. */
  readonly elsewhere: readonly {
    readonly where: Place;
    readonly reference: string;
  }[];
  /** Who has it; nobody where the inventory does not refer to it. */
  readonly roles: readonly unknown[];
}

/** What the command is run with. */
export interface SecretsDependencies<P extends WantedPassword> {
  /** What an inventory needs, complete or not. @throws Problem, Problems */
  wanted(nameOrFile: string): Promise<{
    readonly name: string;
    readonly file: string;
    readonly passwords: readonly P[];
    /** Secrets that nobody can make up. */
    readonly others: readonly string[];
  }>;
  /** Characters that a password may have. */
  readonly allowed: { readonly pattern: RegExp; readonly reason: string };
  /** What is to be done after a rotation. */
  howToChange(passwords: readonly P[], inventory: string, command: (words: string) => string): readonly string[];
  /** @param identity what `--identity` says */
  keys(identity: string | undefined): Keys;
  readonly terminal: Terminal | undefined;
  /** Has a text edited. @throws Problem */
  edit(text: string, name: string): Promise<string>;
  say(line: string): void;
  complain(line: string): void;
  /** The cost of a passphrase, for tests: see passphraseRecipient. */
  readonly work?: number;
}

/** What one command line asks for. */
export interface Task<P extends WantedPassword> {
  readonly name: string;
  readonly passwords: readonly P[];
  readonly others: readonly string[];
  readonly around: SecretsDependencies<P>;
  readonly options: SecretsOptions;
  readonly file: string;
  readonly keys: Keys;
  readonly command: (words: string) => string;
  readonly allowed: AllowedIn;
}

/** The lines that an inventory needs for what is in the file to be used. */
export function sayWhatRefersElsewhere<P extends WantedPassword>({ passwords, around, command }: Task<P>): void {
  const open = passwords.filter(({ elsewhere }) => elsewhere.length > 0);
  if (open.length === 0) return;
  around.say('');
  around.say('The inventory does not use them yet. Write there:');
  for (const { name, path, elsewhere } of open) {
    for (const { where, reference } of elsewhere) {
      around.say(`  ${where.file}:${where.line}:${where.column}  ${path}: secret:${name}   (now ${reference})`);
    }
  }
  around.say('Where databases are there already, keep their passwords: put them in by');
  around.say(`  ${command('edit')}`);
  around.say('or change them as after a rotation: docs/secrets.md');
}

/** Writes the file anew, and says who can read it. @throws Problem */
export async function put<P extends WantedPassword>(
  { around, keys }: Task<P>,
  held: Store,
  text: string,
  lock: Lock,
): Promise<void> {
  const mine = await held.replace(text, lock, keys, around.work);
  const { file } = held;
  if ('passphrase' in lock) {
    // As before, unless it is a new one.
    if (lock !== held.key) around.say(`${file}: whoever has its passphrase can read it`);
    return;
  }
  around.say(
    `${file}: ${lock.recipients.length === 1 ? 'the one recipient' : `the ${lock.recipients.length} recipients`} of ${recipientsFileOf(file)} can read it`,
  );
  if (!mine) around.complain('none of your own identities opens it now: only the other recipients can undo that');
}

/** @throws Problem where a name is none of those that have a value */
export function refuseUnknown<P extends WantedPassword>(
  names: readonly string[],
  { current }: SecretValues,
  task: Task<P>,
): void {
  const unknown = names.find((name) => !current.has(name));
  if (unknown === undefined) return;
  throw new Problem(`${task.file} has no secret called ${unknown}`, {
    hint: didYouMean(unknown, current.keys()) ?? task.command('generate'),
  });
}
