import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readBounded } from '../../file/bounded-file.ts';
import { PrivateFileFault, pathFrom, readPrivateFile } from '../../file/private-file.ts';
import { Problem } from '../../problem/problem.ts';
import type { Ask } from '../ask.ts';
import type { AgeIdentity } from './age-file.ts';

/** The path of an identity file, or an age identity itself, for continuous integration. */
export const identityVariable = 'RPC_PLAYBOOKS_IDENTITY';
/** The passphrase of a file that is encrypted to one. */
export const passphraseVariable = 'RPC_PLAYBOOKS_PASSPHRASE';

/** Bytes; a private key of 16384 bits has a fifth of this. */
const largest = 64 * 1024;

/** The sources of keys for a file of secrets. */
export interface Keys {
  /** An identity file of the command line: then no other is used. */
  readonly identity?: string | undefined;
  /** Default: the environment of this process. */
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** Asks for a passphrase; undefined without a terminal. */
  readonly ask?: Ask | undefined;
  /** The folder with the operator's own keys. Default: the home folder. */
  readonly home?: string | undefined;
}

/** Identities, and the files that were checked for them, to list if no identity fits. */
interface FoundIdentities {
  readonly identities: readonly AgeIdentity[];
  /** Such as `~/.ssh/id_rsa`, `~/.ssh/id_ed25519 (has mode 0644; …)`. */
  readonly checked: readonly string[];
}

/**
 * Finds identities: the one of the command line, or else of the environment, or else the user's
 * own: SSH keys in the places of ssh, and age identities in the places of sops.
 *
 * @throws Problem where an identity of the command line or the environment cannot be used
 */
export async function findIdentities(keys: Keys): Promise<FoundIdentities> {
  const { identity, environment = process.env, ask, home = homedir() } = keys;
  const variable = environment[identityVariable];
  if (identity !== undefined) return named(identity, `--identity ${identity}`, ask);
  if (variable?.startsWith('AGE-SECRET-KEY-'))
    return { identities: await identitiesIn(variable, identityVariable, ask), checked: [identityVariable] };
  if (variable) return named(variable, `${identityVariable}=${variable}`, ask);

  const identities: AgeIdentity[] = [];
  const checked: string[] = [];
  const config = environment.XDG_CONFIG_HOME || join(home, '.config');
  for (const path of [
    join(home, '.ssh/id_ed25519'),
    join(home, '.ssh/id_rsa'),
    join(config, 'sops/age/keys.txt'),
  ]) {
    if (!existsSync(path)) continue;
    const shown = path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
    try {
      identities.push(...(await readIdentityFile(path, ask)));
      checked.push(shown);
    } catch (error) {
      // The user did not name this file: its fault matters only if no other fits.
      if (!(error instanceof PrivateFileFault || error instanceof Problem)) throw error;
      checked.push(`${shown} (${error.message.replace(`${path} `, '')})`);
    }
  }
  return { identities, checked };
}

/**
 * All identities that can be found: one of the command line hides no other. Unusable files are
 * left out.
 */
export async function allIdentities({
  identity,
  environment = process.env,
  home,
}: Keys): Promise<FoundIdentities> {
  const found = await Promise.all(
    [
      { identity, environment },
      { environment },
      { environment: { ...environment, [identityVariable]: '' } },
    ].map((keys) => findIdentities({ ...keys, home }).catch(() => ({ identities: [], checked: [] }))),
  );
  return {
    identities: found.flatMap(({ identities }) => identities),
    checked: [...new Set(found.flatMap(({ checked }) => checked))],
  };
}

async function named(path: string, source: string, ask: Ask | undefined): Promise<FoundIdentities> {
  try {
    return { identities: await readIdentityFile(pathFrom(process.cwd(), path), ask), checked: [path] };
  } catch (error) {
    if (!(error instanceof PrivateFileFault)) throw error;
    throw new Problem(`${source}: the file ${error.message}`, {
      hint:
        error.hint ??
        (error.missing ? 'name a file with an identity of age, or a private key of SSH' : undefined),
    });
  }
}

/**
 * The identities of a file: age identities, one a line, or an SSH private key.
 *
 * @param ask for the passphrase of a key that has one; undefined where there is no terminal
 * @throws PrivateFileFault where the file is missing, or others may read it
 * @throws Problem where there is no identity in it that can be used. The content is never shown.
 */
async function readIdentityFile(path: string, ask: Ask | undefined): Promise<readonly AgeIdentity[]> {
  if (isPublicKey(path)) {
    throw new Problem(`${path} is a public key`, {
      hint: `name the private one: ${path.replace(/\.pub$/, '')}`,
    });
  }
  return identitiesIn(await readPrivateFile(path, largest), path, ask);
}

/** In any mode: a public key may be read by everybody. */
function isPublicKey(path: string): boolean {
  try {
    return /^(ssh-|ecdsa-|sk-|age1|-----BEGIN [A-Z ]*PUBLIC KEY)/.test(
      readBounded(path, largest).toString('latin1'),
    );
  } catch {
    return false;
  }
}

/**
 * @param source the name that problems show
 */
async function identitiesIn(
  text: string,
  source: string,
  ask: Ask | undefined,
): Promise<readonly AgeIdentity[]> {
  if (/^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    // Loaded late, so that the SSH key libraries cost nothing without such a key.
    const { sshIdentity } = await import('./ssh-private-key.ts');
    return [await sshIdentity(text, source, ask)];
  }
  if (/^(age-encryption\.org\/|-----BEGIN AGE ENCRYPTED FILE-----)/.test(text)) {
    throw new Problem(`${source} is itself encrypted`, {
      hint: 'give an identity in the clear, mode 0600, or a key of SSH, which may have a passphrase',
    });
  }
  const { Decrypter } = await import('age-encryption');
  const identities = text.split(/\r?\n/).flatMap((raw, at) => {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) return [];
    try {
      new Decrypter().addIdentity(line);
      return [line];
    } catch {
      const isPlugin = line.startsWith('AGE-PLUGIN-');
      throw new Problem(isPlugin ? 'identities of plugins cannot be used' : 'this is not an identity', {
        where: { file: source, line: at + 1 },
        hint: 'an identity is a line AGE-SECRET-KEY-1…, as age-keygen makes it, or the file is a private key of SSH',
      });
    }
  });
  if (identities.length === 0) throw new Problem(`${source} has no identity in it`);
  return identities;
}
