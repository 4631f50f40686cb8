import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { PrivateFileFault, pathFrom } from '../../file/private-file.ts';
import { Problem } from '../../problem/problem.ts';
import type { Ask } from '../ask.ts';
import type { AgeIdentity } from './age-file.ts';
import { identitiesIn, readIdentityFile } from './identity-file.ts';

/** Names an identity file, or is an identity of age itself, as continuous integration keeps it. */
export const identityVariable = 'RPC_PLAYBOOKS_IDENTITY';
/** Has the passphrase of a file that is encrypted to one. */
export const passphraseVariable = 'RPC_PLAYBOOKS_PASSPHRASE';

/** What there is to open a file of secrets with. */
export interface Keys {
  /** An identity file that was named on the command line: no other is looked for. */
  readonly identity?: string | undefined;
  readonly environment?: NodeJS.ProcessEnv | undefined;
  /** Asks for a passphrase; undefined where there is no terminal. */
  readonly ask?: Ask | undefined;
  /** Where the operator's own keys are looked for. Default: the home folder. */
  readonly home?: string | undefined;
}

/** The identities at hand, and what was looked at, to say so where none of them fits. */
export interface FoundIdentities {
  readonly identities: readonly AgeIdentity[];
  /** Such as `~/.ssh/id_rsa`, `~/.ssh/id_ed25519 (has mode 0644; …)`. */
  readonly lookedAt: readonly string[];
}

/**
 * Finds identities: the one of the command line, or else of the environment, or else the operator's own: SSH keys where ssh has
 * them, and identities of age where sops has them.
 *
 * @throws Problem where one that was named cannot be used
 */
export async function findIdentities({
  identity,
  environment = process.env,
  ask,
  home,
}: Keys): Promise<FoundIdentities> {
  const variable = environment[identityVariable];
  if (identity !== undefined) return named(identity, `--identity ${identity}`, ask);
  if (variable?.startsWith('AGE-SECRET-KEY-')) {
    return { identities: await identitiesIn(variable, identityVariable, ask), lookedAt: [identityVariable] };
  }
  if (variable) return named(variable, `${identityVariable}=${variable}`, ask);

  const own = home ?? homedir();
  const identities: AgeIdentity[] = [];
  const lookedAt: string[] = [];
  for (const path of ownFiles(own, environment)) {
    const shown = path.startsWith(`${own}/`) ? `~${path.slice(own.length)}` : path;
    if (!existsSync(path)) continue;
    try {
      identities.push(...(await readIdentityFile(path, ask)));
      lookedAt.push(shown);
    } catch (error) {
      // One of several that were not asked for: it matters only where no other fits.
      if (!(error instanceof PrivateFileFault || error instanceof Problem)) throw error;
      lookedAt.push(`${shown} (${error.message.replace(`${path} `, '')})`);
    }
  }
  return { identities, lookedAt };
}

function ownFiles(home: string, environment: NodeJS.ProcessEnv): string[] {
  const config = environment.XDG_CONFIG_HOME || join(home, '.config');
  return [join(home, '.ssh/id_ed25519'), join(home, '.ssh/id_rsa'), join(config, 'sops/age/keys.txt')];
}

async function named(path: string, said: string, ask: Ask | undefined): Promise<FoundIdentities> {
  try {
    return { identities: await readIdentityFile(pathFrom(process.cwd(), path), ask), lookedAt: [path] };
  } catch (error) {
    if (!(error instanceof PrivateFileFault)) throw error;
    throw new Problem(`${said}: the file ${error.message}`, {
      hint: error.hint ?? (error.missing ? 'name a file with an identity of age, or a private key of SSH' : undefined),
    });
  }
}
