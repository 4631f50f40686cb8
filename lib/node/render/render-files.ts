import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { refuseSystemFolder } from '../../engine/file/folder-for-files.ts';
import { refuseOthersFolder, writePrivateFile } from '../../engine/file/private-output.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { errorCode } from '../../engine/text/error-code.ts';
import type { Variables } from '../variables/variables.ts';
import { type RenderedFile, renderHost } from './render.ts';

type Hosts = readonly InventoryHost<Variables>[];

/**
 * Renders every file of some hosts to OUT/HOST/FILENAME, mode 0600, secrets included, without a
 * connection to any host. Nothing is written before everything has been rendered.
 *
 * @param chosen the hosts to render
 * @param hosts all of the inventory: an RPC host's files name the database host
 * @returns the paths written
 * @throws Problem or Problems from a template, Problem if OUT cannot be written to
 */
export async function renderFiles(chosen: Hosts, hosts: Hosts, out: string): Promise<string[]> {
  refuseOutput(out);
  for (const { name } of chosen) refuseOthersFolder(join(out, name), out);
  const rendered = await Promise.all(
    chosen.map(async (host) => ({ host, files: await filesOf(host, hosts) })),
  );
  const written: string[] = [];
  for (const { host, files } of rendered) {
    for (const { name, content } of files) {
      const path = join(out, host.name, name);
      try {
        await mkdir(join(out, host.name), { recursive: true, mode: 0o700 });
        writePrivateFile(path, content.text);
      } catch (error) {
        if (error instanceof Problem) throw error;
        throw new Problem(`cannot write ${path} (${errorCode(error) ?? 'unknown error'})`);
      }
      written.push(path);
    }
  }
  return written;
}

/**
 * Refuses a folder for rendered files that keeps none, or that another user could change. No
 * inventory is needed, so no command of one runs before.
 *
 * @throws Problem
 */
export function refuseOutput(out: string): void {
  refuseSystemFolder(out);
  refuseOthersFolder(out);
}

/**
 * All files of one host.
 *
 * @throws Problem or Problems from a template
 */
export async function filesOf(
  host: InventoryHost<Variables>,
  hosts: Hosts,
): Promise<readonly RenderedFile[]> {
  return (await renderHost({ host, vars: host.vars, hosts })).files;
}
