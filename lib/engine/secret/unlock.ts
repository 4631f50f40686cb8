import { resolve } from 'node:path';
import type { Keys } from './age/identities.ts';
import { Secret } from './secret.ts';
import { parseSecretValues } from './secret-values.ts';
import { openSecretsFile } from './secrets-file.ts';

/**
 * Gives what a file of secrets holds, by name. @throws Problem, Problems
 */
export type Unlock = (file: string) => Promise<ReadonlyMap<string, Secret>>;

/** Opens files of secrets, each once however often it is asked for: nobody types a passphrase twice in a run. */
export function unlocker(keys: Keys = {}): Unlock {
  const opened = new Map<string, Promise<ReadonlyMap<string, Secret>>>();
  // One after the other, or two questions would stand on the terminal at once.
  let last: Promise<unknown> = Promise.resolve();
  return (file) => {
    const known = opened.get(resolve(file));
    if (known) return known;
    const opening = last.then(() => unlock(file, keys));
    last = opening.catch(() => undefined);
    opened.set(resolve(file), opening);
    return opening;
  };
}

async function unlock(file: string, keys: Keys): Promise<ReadonlyMap<string, Secret>> {
  const { text } = await openSecretsFile(file, keys);
  const { current, previous } = parseSecretValues(text, file);
  // Known, so that they are blanked in all output, too.
  for (const value of previous.values()) new Secret(value);
  return new Map([...current].map(([name, value]) => [name, new Secret(value)]));
}
