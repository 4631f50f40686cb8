import { resolve } from 'node:path';
import pLimit from 'p-limit';
import type { Keys } from './age/identities.ts';
import { Secret } from './secret.ts';
import { parseSecretValues } from './secret-values.ts';
import { openSecretsFile } from './secrets-file.ts';

/**
 * Reads the values of a file of secrets, by name, each with its former one where that is kept.
 *
 * @throws Problem, Problems
 */
export type Unlock = (file: string) => Promise<ReadonlyMap<string, Secret>>;

/** Opens files of secrets, each once: nobody types a passphrase twice in a run. */
export function unlocker(keys: Keys = {}): Unlock {
  const opened = new Map<string, ReturnType<Unlock>>();
  // One after the other, or two questions would be on the terminal at once.
  const inTurn = pLimit(1);
  return (file) => {
    const path = resolve(file);
    const opening = opened.get(path) ?? inTurn(() => unlock(file, keys));
    opened.set(path, opening);
    return opening;
  };
}

async function unlock(file: string, keys: Keys): ReturnType<Unlock> {
  const { text } = await openSecretsFile(file, keys);
  const { current, previous } = parseSecretValues(text, file);
  // Former values are masked in all output, too.
  const former = new Map([...previous].map(([name, value]) => [name, new Secret(value)]));
  return new Map([...current].map(([name, value]) => [name, new Secret(value, former.get(name))]));
}
