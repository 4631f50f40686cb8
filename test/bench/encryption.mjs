#!/usr/bin/env zx
// Measures what encryption between hosts costs, beside plain text (docs/encryption.md).
import '../typescript.mjs';

const { measureEncryption } = await import('./encryption.ts');
for (const line of await measureEncryption()) console.log(line);
