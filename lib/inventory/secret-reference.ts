import { readFile, stat } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import { type Place, Problem } from '../problem.ts';
import { Secret } from '../secret/secret.ts';

/** No password is longer; a file that is, is some other file. */
const longest = 4096;

/** A reference to a secret: `env:NAME`, or `file:PATH` relative to the file that names it. */
export const secretReferencePattern = /^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$/;

export interface SecretQuestion {
  /** What it is, as the operator calls it: `credentials.state.password`. */
  readonly name: string;
  /** Where the reference stands; a relative path is relative to this file. */
  readonly where: Place;
  /** Which characters may be in it, and why no others. Default: anything but a line break and NUL. */
  readonly allowed?: { readonly pattern: RegExp; readonly reason: string };
  readonly environment?: NodeJS.ProcessEnv;
}

/**
 * Reads the secret that a reference names. One line break at the end of a file is not part of it.
 *
 * @throws Problem where it is missing, empty, readable to others, somebody else's, or has characters that are not allowed.
 *   The value never appears in it.
 */
export async function readSecret(reference: string, question: SecretQuestion): Promise<Secret> {
  const { name, where } = question;
  if (!secretReferencePattern.test(reference)) {
    throw new Problem(`${name} must be a reference, env:NAME or file:PATH: a password never stands in an inventory`, {
      where,
    });
  }
  const rest = reference.slice(reference.indexOf(':') + 1);
  const source = reference.startsWith('env:') ? `environment variable ${rest}` : pathOf(rest, where);
  const value = reference.startsWith('env:') ? fromEnvironment(rest, question) : await fromFile(source, question);

  if (value === '') throw new Problem(`${name} is empty: ${source} holds nothing`, { where });
  const { pattern, reason } = question.allowed ?? { pattern: /^[^\n\r\0]+$/, reason: 'it is one line of text' };
  if (!pattern.test(value)) {
    throw new Problem(`${name} (from ${source}) has a character that is not allowed: ${reason}`, {
      where,
      hint: 'choose another password; an existing database user is changed with ALTER ROLE … PASSWORD',
    });
  }
  return new Secret(value);
}

function fromEnvironment(variable: string, { name, where, environment = process.env }: SecretQuestion): string {
  const value = Object.hasOwn(environment, variable) ? environment[variable] : undefined;
  if (value === undefined) {
    throw new Problem(`${name}: environment variable ${variable} is not set`, {
      where,
      hint: `export ${variable} before the run`,
    });
  }
  return value;
}

async function fromFile(path: string, { name, where }: SecretQuestion): Promise<string> {
  const refuse = (what: string, hint?: string): Problem => new Problem(`${name}: ${what}`, { where, hint });
  try {
    const found = await stat(path);
    if (!found.isFile()) throw refuse(`${path} is not a file`);
    const mode = found.mode & 0o777;
    if ((mode & 0o077) !== 0) {
      throw refuse(`${path} has mode 0${mode.toString(8)}; a secret must be 0600 or stricter`, `chmod 600 ${path}`);
    }
    const me = userInfo();
    if (found.uid !== me.uid && found.uid !== 0) {
      throw refuse(`${path} belongs to user id ${found.uid}; it must be yours`, `chown ${me.username} ${path}`);
    }
    if (found.size > longest) throw refuse(`${path} is ${found.size} bytes long: that is no password`);
    return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    if (error instanceof Problem) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw refuse(`${path} does not exist`, 'write the password into it, mode 0600');
    throw refuse(`${path} cannot be read (${code ?? 'unknown error'})`);
  }
}

function pathOf(path: string, where: Place): string {
  return resolve(dirname(where.file), path.startsWith('~/') ? `${homedir()}${path.slice(1)}` : path);
}
