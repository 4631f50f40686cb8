#!/usr/bin/env zx
// Writes docs/wrong-input.md: what wrong inventories and command lines give.
import { writeFile } from 'node:fs/promises';
import '../test/typescript.mjs';

const { wrongInputPage } = await import('./reference/wrong-input.ts');

await writeFile(new URL('wrong-input.md', import.meta.url), await wrongInputPage());
