#!/usr/bin/env zx
// Writes docs/wrong-input.md and docs/wrong-commands.md: what wrong inventories and command lines
// give.
import { writeFile } from 'node:fs/promises';
import '../test/typescript.mjs';

const { wrongInputPages } = await import('./reference/wrong-input.ts');

for (const [name, text] of Object.entries(await wrongInputPages()))
  await writeFile(new URL(name, import.meta.url), text);
