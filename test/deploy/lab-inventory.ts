import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The lab's inventory with some of its text replaced, in a file of its own that goes when the test ends.
 *
 * @param changes text in inventory/lab.yaml -> what stands there instead
 * @throws Error when a text is not there, so that no test changes nothing without knowing
 */
export async function changedLabInventory(changes: Record<string, string>): Promise<string> {
  let text = await readFile(join(root, 'inventory/lab.yaml'), 'utf8');
  text = text.replaceAll('../.lab/', join(root, '.lab/'));
  for (const [old, wanted] of Object.entries(changes)) {
    if (!text.includes(old)) throw new Error(`inventory/lab.yaml does not say ${old}`);
    text = text.replace(old, wanted);
  }
  const folder = await mkdtemp(join(tmpdir(), 'lab-inventory-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'lab-changed.yaml');
  await writeFile(file, text);
  return file;
}
