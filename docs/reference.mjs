#!/usr/bin/env zx
// Writes inventory/schema.json, for editors, and the tables of docs/configuration.md and the two
// pages of variables, from the schemas of the inventory; docs/kinds.md; and the table of
// docs/commands.md.
import { readFile, writeFile } from 'node:fs/promises';
import '../test/typescript.mjs';

const { schemaText, tablePages, withTables } = await import('./reference/reference.ts');

const pages = tablePages.map((name) => new URL(name, import.meta.url));
const filled = withTables(await Promise.all(pages.map((page) => readFile(page, 'utf8'))));
await Promise.all(pages.map((page, at) => writeFile(page, filled[at] ?? '')));
await writeFile(new URL('../inventory/schema.json', import.meta.url), schemaText());

const { kindsPage } = await import('./reference/kinds-page.ts');
await writeFile(new URL('kinds.md', import.meta.url), kindsPage());

const { withCommands } = await import('./reference/commands-table.ts');
const commands = new URL('commands.md', import.meta.url);
await writeFile(commands, withCommands(await readFile(commands, 'utf8')));
