import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { parseDocument } from 'yaml';

const passwords = { state: 'state.Pw~1', pool: 'pool.Pw~2', prover: 'prover.Pw~3' } as const;

/** A value at a path of the inventory; undefined removes the path. */
export type Changes = readonly (readonly [path: readonly string[], value: unknown])[];

/**
 * Writes inventory/lab.yaml with values, passwords and (empty) key files like those of the lab to a temporary folder for
 * the test.
 *
 * @returns the path of the inventory there
 */
export async function labDeployment(changes: Changes = []): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'deployment-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'inventory'));
  await mkdir(join(folder, '.lab/secrets'), { recursive: true });
  const document = parseDocument(
    await readFile(fileURLToPath(new URL('../../../inventory/lab.yaml', import.meta.url)), 'utf8'),
  );
  for (const [path, value] of changes) {
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, document.createNode(value));
  }
  const file = join(folder, 'inventory/lab.yaml');
  await writeFile(file, document.toString({ lineWidth: 0 }));
  await writeFile(
    join(folder, '.lab/vars.yaml'),
    `network: { genesis: { sha256: ${'a'.repeat(64)} } }
snapshot:
  state: { sha256: ${'b'.repeat(64)} }
  prover: { sha256: ${'c'.repeat(64)} }
  date: 2024-05-01
`,
  );
  for (const name of ['id_ed25519', 'known_hosts']) await writeFile(join(folder, '.lab', name), '', { mode: 0o600 });
  for (const [store, password] of Object.entries(passwords)) {
    await writeFile(join(folder, `.lab/secrets/${store}_db_password`), `${password}\n`, { mode: 0o600 });
  }
  return file;
}
