import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { stateDirectory } from './layout.mjs';

const secretsDirectory = join(stateDirectory, 'secrets');
const secrets = ['state_db_password', 'pool_db_password', 'prover_db_password'];
const valuesFile = join(stateDirectory, 'vars.yaml');

/** Every file that inventory/lab.yaml refers to, except the keys. */
export const inventoryFiles = [valuesFile, ...secrets.map((name) => join(secretsDirectory, name))];

/** Generates a password for each database; existing ones stay. */
export async function ensureSecrets() {
  await mkdir(secretsDirectory, { recursive: true, mode: 0o700 });
  for (const name of secrets) {
    const file = join(secretsDirectory, name);
    if ((await readFile(file, 'utf8').catch(() => '')).trim() === '') {
      // Base64url is safe in every file and URL that contains it.
      await writeFile(file, `${randomBytes(24).toString('base64url')}\n`);
    }
    await chmod(file, 0o600);
  }
}

/**
 * Writes the values of inventory/lab.yaml that are known only after the lab is created.
 *
 * @param {{ genesis_sha256: string, state_sha256: string, prover_sha256: string, date: string }}
 * made
 */
export async function writeValues(made) {
  const values = {
    network: { genesis: { sha256: made.genesis_sha256 } },
    snapshot: {
      state: { sha256: made.state_sha256 },
      prover: { sha256: made.prover_sha256 },
      date: made.date,
    },
  };
  await writeFile(
    valuesFile,
    `# Written by lab/up.mjs: what the lab's genesis file and snapshots are.\n${stringify(values)}`,
  );
}

/** Removes the values of a genesis file and snapshots that will be replaced. */
export async function removeValues() {
  await rm(valuesFile, { force: true });
}
