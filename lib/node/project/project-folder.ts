import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markedFolder } from './marked-folder.mjs';

/**
 * The folder of this program, with the inventories, templates and records of whoever works in a
 * clone of it.
 */
export const installation = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/**
 * The folder with `inventory/`, `templates/` and `.runs`: the nearest one with the marker, from
 * the working directory upwards. Without one, the installation. `-C DIR` changes the working
 * directory before.
 */
export const projectFolder = markedFolder(process.cwd()) ?? installation;

/** The folder of run records. */
export const recordFolder = join(projectFolder, '.runs');
