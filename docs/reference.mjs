#!/usr/bin/env zx
// Writes inventory/schema.json, for editors, and the tables of docs/configuration.md, from the schemas of the inventory; docs/kinds.md;
// and the table of docs/commands.md.
import { readFile, writeFile } from 'node:fs/promises';
import '../test/typescript.mjs';

const { schemaText, withTables } = await import('./reference/reference.ts');

const page = new URL('configuration.md', import.meta.url);
await writeFile(page, withTables(await readFile(page, 'utf8')));
await writeFile(new URL('../inventory/schema.json', import.meta.url), schemaText());

const { kindsPage } = await import('./reference/kinds-page.ts');
await writeFile(new URL('kinds.md', import.meta.url), kindsPage());

const { withCommands } = await import('./reference/commands-table.ts');
const commands = new URL('commands.md', import.meta.url);
await writeFile(commands, withCommands(await readFile(commands, 'utf8')));
