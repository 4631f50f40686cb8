import { readPrivateFile } from '../../file/private-file.ts';
import { Problem } from '../../problem/problem.ts';
import type { Ask } from '../ask.ts';
import type { AgeIdentity } from './age-file.ts';

/** Bytes; a private key of 16384 bits has a fifth of this. */
const largest = 64 * 1024;

/**
 * The identities of a file: identities of age, one a line, or a private key of SSH.
 *
 * @param ask for the passphrase of a key that has one; undefined where there is nobody to ask
 * @throws PrivateFileFault where it is missing or others may read it
 * @throws Problem where there is no identity in it that can be used. What stands in it is never told.
 */
export async function readIdentityFile(path: string, ask: Ask | undefined): Promise<readonly AgeIdentity[]> {
  return identitiesIn(await readPrivateFile(path, largest), path, ask);
}

/** As readIdentityFile, of a text. @param source as problems call it */
export async function identitiesIn(
  text: string,
  source: string,
  ask: Ask | undefined,
): Promise<readonly AgeIdentity[]> {
  if (/^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) {
    // Only whoever has a key of SSH pays for loading its libraries.
    const { sshIdentity } = await import('./ssh-private-key.ts');
    return [await sshIdentity(text, source, ask)];
  }
  if (/^(age-encryption\.org\/|-----BEGIN AGE ENCRYPTED FILE-----)/.test(text)) {
    throw new Problem(`${source} is itself encrypted`, {
      hint: 'give an identity in the clear, mode 0600, or a key of SSH, which may have a passphrase',
    });
  }
  const { Decrypter } = await import('age-encryption');
  const lines = text.split(/\r?\n/).map((line, at) => ({ line: line.trim(), where: { file: source, line: at + 1 } }));
  const identities = lines
    .filter(({ line }) => line !== '' && !line.startsWith('#'))
    .map(({ line, where }) => {
      try {
        new Decrypter().addIdentity(line);
      } catch {
        const isPlugin = line.startsWith('AGE-PLUGIN-');
        throw new Problem(isPlugin ? 'identities of plugins cannot be used' : 'this is no identity', {
          where,
          hint: 'an identity is a line AGE-SECRET-KEY-1…, as age-keygen makes it, or the file is a private key of SSH',
        });
      }
      return line;
    });
  if (identities.length === 0) throw new Problem(`${source} has no identity in it`);
  return identities;
}
