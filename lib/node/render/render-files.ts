import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writePrivateFile } from '../../engine/file/private-output.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { Variables } from '../variables/variables.ts';
import { type RenderedFile, renderHost } from './render.ts';

/**
 * Renders every file of some hosts to OUT/HOST/FILENAME, mode 0600, with no connection to any host. Secrets stand in them as given.
 * Nothing is written before everything has been rendered.
 *
 * @param chosen the hosts to render
 * @param hosts all of the inventory: an RPC host's files name the database host
 * @returns the paths written
 * @throws Problem or Problems from a template, Problem where OUT cannot be written to
 */
export async function renderFiles(
  chosen: readonly InventoryHost<Variables>[],
  hosts: readonly InventoryHost<Variables>[],
  out: string,
): Promise<string[]> {
  // Node's recursive mkdir never ends in /proc.
  if (/^\/(proc|sys|dev(?!\/shm\/))(\/|$)/.test(resolve(out))) {
    throw new Problem(`${out} is no folder for files: /proc, /sys and /dev are the system's own`);
  }
  const rendered = await Promise.all(chosen.map(async (host) => ({ host, files: await filesOf(host, hosts) })));
  const written: string[] = [];
  for (const { host, files } of rendered) {
    const folder = join(out, host.name);
    for (const { name, content } of files) {
      const path = join(folder, name);
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        writePrivateFile(path, content.text);
      } catch (error) {
        if (error instanceof Problem) throw error;
        throw new Problem(`cannot write ${path} (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
      }
      written.push(path);
    }
  }
  return written;
}

/** All files of one host. @throws Problem or Problems from a template */
export async function filesOf(
  host: InventoryHost<Variables>,
  hosts: readonly InventoryHost<Variables>[],
): Promise<readonly RenderedFile[]> {
  return (await renderHost({ host, vars: host.vars, hosts })).files;
}
