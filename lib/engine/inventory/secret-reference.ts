import { dirname, resolve } from 'node:path';
import { unfitness } from '../file/bounded-file.ts';
import { PrivateFileFault, pathBeside, readPrivateFile } from '../file/private-file.ts';
import { type Place, Problem } from '../problem/problem.ts';
import { outputOf, SecretCommandFailed } from '../secret/command-output.ts';
import { Secret } from '../secret/secret.ts';
import { secretsCommand } from '../secret/secrets-file.ts';
import type { Unlock } from '../secret/unlock.ts';
import { didYouMean } from '../text/suggest.ts';

/** No password is longer; a larger file is some other file. */
const longest = 4096;

/**
 * A reference to a secret: `env:NAME`, `file:PATH` relative to the file that names it,
 * `secret:NAME` in the inventory's encrypted file of secrets, or `cmd:COMMAND`, which prints it.
 */
export const secretReferencePattern =
  /^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+|cmd:.*\S.*|secret:(?!previous$)[A-Za-z0-9][A-Za-z0-9_.-]*)$/;
export const secretReferenceRule =
  'must be a reference, env:NAME, file:PATH, secret:NAME or cmd:COMMAND: a secret is never in an inventory';
/**
 * A reference within a text: `https://l1.example/{{ secret:l1_key }}`. Alertmanager's templates have
 * such braces, too, but no kind of reference in them.
 */
export const referenceWithin = /\{\{\s*((?:env|file|cmd|secret):[^{}]*?)\s*\}\}/g;
/** A reference, or a text with some in it. */
export const secretTextPattern = new RegExp(`${secretReferencePattern.source}|${referenceWithin.source}`);
export const secretTextRule =
  'must be a reference, env:NAME, file:PATH, secret:NAME or cmd:COMMAND, or have one in it, such as {{ secret:NAME }}: a secret is never in an inventory';
/** For a description: it continues the name of the secret. */
export const secretReferenceKinds =
  'env:NAME, file:PATH (a file of mode 0600, relative to the file that names it), secret:NAME (in the encrypted file of secrets beside the inventory), or cmd:COMMAND (a shell command of this machine that prints it)';

export interface SecretQuestion {
  /** The name of its key: `credentials.state.password`. */
  readonly name: string;
  /** The place of the reference; a relative path is relative to this file. */
  readonly where: Place;
  /**
   * Its characters, the reason for the rule, how many there must be, and how to get a fitting one,
   * which is a password by default. Default: anything but a line break and NUL.
   */
  readonly allowed?: {
    readonly pattern: RegExp;
    readonly reason: string;
    readonly least?: number;
    readonly hint?: string;
  };
  readonly environment?: NodeJS.ProcessEnv;
  /** The file of `secret:NAME`. It is opened only for such a reference. */
  readonly secrets?: { readonly file: string; readonly unlock: Unlock };
}

const ofPassword =
  'choose another password; for an existing database user, change the password with ALTER ROLE … PASSWORD';

/**
 * Reads the secret of a reference. One line break at the end of a file or variable is not part of
 * it.
 *
 * @throws Problem where it is missing, empty, readable to others, owned by another user, or has
 * characters that are not allowed.
 *   The value is never in it.
 * @throws Problem, Problems where the file of secrets does not open; they are the same for each
 * reference to it
 */
export async function readSecret(reference: string, question: SecretQuestion): Promise<Secret> {
  const { name, where } = question;
  if (!secretReferencePattern.test(reference)) throw new Problem(`${name} ${secretReferenceRule}`, { where });
  const { source, value, former } = await readSource(reference, question);
  if (value === '') throw new Problem(`${name} is empty: ${source} holds nothing`, { where });
  refuseUnfit(value, source, question);
  return new Secret(value, former);
}

/**
 * @param source where the value is from, in words
 * @throws Problem where a value has characters that are not allowed, or too few
 */
export function refuseUnfit(value: string, source: string, question: SecretQuestion): void {
  const { name, where } = question;
  const any = { pattern: /^[^\n\r\0]+$/, reason: 'it is one line of text', hint: 'correct it there' };
  const allowed: NonNullable<SecretQuestion['allowed']> = question.allowed ?? any;
  const { pattern, reason, least = 1, hint = ofPassword } = allowed;
  const fits = pattern.test(value);
  if (fits && value.length >= least) return;
  const fault = fits
    ? `is too short: at least ${least} characters`
    : `has a character that is not allowed: ${reason}`;
  throw new Problem(`${name} (from ${source}) ${fault}`, { where, hint });
}

/**
 * @returns the value, where it is from, in words, and the value before a rotation
 */
async function readSource(
  reference: string,
  question: SecretQuestion,
): Promise<{ source: string; value: string; former?: Secret | undefined }> {
  const [, kind, rest = ''] = /^(env|file|secret|cmd):(.*)$/s.exec(reference) ?? [];
  switch (kind) {
    case 'env':
      return { source: `environment variable ${rest}`, value: fromEnvironment(rest, question) };
    case 'file': {
      const path = pathBeside(question.where.file, rest);
      return { source: path, value: await fromFile(path, question) };
    }
    case 'cmd':
      return { source: `the command ${rest.trim()}`, value: await fromCommand(rest.trim(), question) };
    default: {
      const secret = await fromSecrets(rest, question);
      return { source: reference, value: secret.reveal(), former: secret.former };
    }
  }
}

function fromEnvironment(
  variable: string,
  { name, where, environment = process.env }: SecretQuestion,
): string {
  const value = Object.hasOwn(environment, variable) ? environment[variable] : undefined;
  if (value === undefined) {
    throw new Problem(`${name}: environment variable ${variable} is not set`, {
      where,
      hint: `export ${variable} before the run`,
    });
  }
  return value.replace(/\r?\n$/, '');
}

async function fromFile(path: string, { name, where }: SecretQuestion): Promise<string> {
  try {
    return (await readPrivateFile(path, longest)).replace(/\r?\n$/, '');
  } catch (error) {
    if (!(error instanceof PrivateFileFault)) throw error;
    const hint = error.missing ? 'write the secret into it, mode 0600' : error.hint;
    throw new Problem(`${name}: ${path} ${error.message}`, { where, hint });
  }
}

async function fromCommand(command: string, question: SecretQuestion): Promise<string> {
  const hint = 'try the command in a shell: it must print the secret, and nothing else, on standard output';
  return (await outputOfCommand(command, question, longest, hint)).replace(/\r?\n$/, '');
}

/** A command as messages name it: its first line, and … for further ones. */
export function commandName(command: string): string {
  const [first = '', ...more] = command.trim().split('\n');
  return more.length > 0 ? `${first.trimEnd()}…` : first;
}

/**
 * What a command of an inventory prints, which runs in the folder of the file that names it.
 *
 * @param most more output is an error. Bytes
 * @param hint what to do where it fails
 * @throws Problem where it fails, and for a folder that another user can change
 */
export async function outputOfCommand(
  command: string,
  { name, where }: Pick<SecretQuestion, 'name' | 'where'>,
  most: number,
  hint: string,
): Promise<string> {
  const folder = dirname(where.file);
  // A relative name in the command would be one of another user.
  const unfit = unfitness(folder, { alone: true, folder: resolve(folder) });
  if (unfit) {
    const what = `${name}: the command ${commandName(command)} runs in ${folder}, which ${unfit.message}`;
    throw new Problem(what, { where, hint: unfit.hint });
  }
  try {
    return await outputOf(command, folder, most);
  } catch (error) {
    if (!(error instanceof SecretCommandFailed)) throw error;
    throw new Problem(`${name}: the command ${commandName(command)} ${error.message}`, { where, hint });
  }
}

async function fromSecrets(entry: string, { name, where, secrets }: SecretQuestion): Promise<Secret> {
  if (!secrets)
    throw new Problem(`${name}: secret:${entry} needs a file of secrets, but none is given`, { where });
  const entries = await secrets.unlock(secrets.file);
  const secret = entries.get(entry);
  if (secret) return secret;
  const hint = didYouMean(entry, entries.keys()) ?? secretsCommand(secrets.file, 'generate');
  throw new Problem(`${name}: ${secrets.file} has no secret called ${entry}`, { where, hint });
}
