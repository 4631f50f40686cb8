import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseDocument } from 'yaml';

const passwords = { state: 'state.Pw~1', pool: 'pool.Pw~2', prover: 'prover.Pw~3' } as const;

/** Read once: hundreds of tests start from it. */
const lab = parseDocument(
  readFileSync(fileURLToPath(new URL('../../../inventory/lab.yaml', import.meta.url)), 'utf8'),
);

/** A value at a path of the inventory; undefined removes the path. */
export type Changes = readonly (readonly [path: readonly string[], value: unknown])[];

/**
 * Writes inventory/lab.yaml, and values, passwords and empty key files like the lab's, to a folder.
 *
 * @returns the path of the inventory there
 */
export function writeLabDeployment(folder: string, changes: Changes = []): string {
  mkdirSync(join(folder, 'inventory'));
  mkdirSync(join(folder, '.lab/secrets'), { recursive: true });
  const document = lab.clone();
  for (const [path, value] of changes) {
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, document.createNode(value));
  }
  const file = join(folder, 'inventory/lab.yaml');
  writeFileSync(file, document.toString({ lineWidth: 0 }));
  writeFileSync(
    join(folder, '.lab/vars.yaml'),
    `network: { genesis: { sha256: ${'a'.repeat(64)} } }
snapshot:
  state: { sha256: ${'b'.repeat(64)} }
  prover: { sha256: ${'c'.repeat(64)} }
  date: 2024-05-01
`,
  );
  for (const name of ['id_ed25519', 'known_hosts'])
    writeFileSync(join(folder, '.lab', name), '', { mode: 0o600 });
  for (const [store, password] of Object.entries(passwords)) {
    writeFileSync(join(folder, `.lab/secrets/${store}_db_password`), `${password}\n`, { mode: 0o600 });
  }
  return file;
}
