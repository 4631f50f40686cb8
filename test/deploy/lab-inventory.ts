import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { parseDocument } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The lab's inventory with some text replaced, in a temporary file for the tests of a file.
 *
 * @param changes text in inventory/lab.yaml -> its replacement
 * @throws Error when a text is not there, so that a test cannot silently change nothing
 */
export async function changedLabInventory(changes: Record<string, string>): Promise<string> {
  let text = await labInventory();
  for (const [old, wanted] of Object.entries(changes)) {
    if (!text.includes(old)) throw new Error(`inventory/lab.yaml does not say ${old}`);
    text = text.replace(old, wanted);
  }
  return write(text);
}

/**
 * An inventory of the lab with other values, in a temporary file for the tests of a file.
 *
 * @param values a path in the inventory -> its new value; undefined removes the path
 * @param name of the inventory
 */
export async function labInventoryWith(
  values: Readonly<Record<string, unknown>>,
  name = 'lab',
): Promise<string> {
  const document = parseDocument(await labInventory(name));
  for (const [path, value] of Object.entries(values)) {
    const keys = path.split('.');
    if (value === undefined) document.deleteIn(keys);
    else document.setIn(keys, document.createNode(value));
  }
  return write(document.toString({ lineWidth: 0 }));
}

async function labInventory(name = 'lab'): Promise<string> {
  const text = await readFile(join(root, `inventory/${name}.yaml`), 'utf8');
  return text.replaceAll('../.lab/', join(root, '.lab/'));
}

async function write(inventory: string): Promise<string> {
  const file = join(await folderForTest(), 'lab-changed.yaml');
  await writeFile(file, inventory);
  return file;
}

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

/** A temporary directory for the tests of a file, and their hooks. */
export async function folderForTest(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'lab-test-'));
  folders.push(folder);
  return folder;
}
