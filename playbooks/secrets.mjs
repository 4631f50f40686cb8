#!/usr/bin/env zx
// Makes, edits, shows and rotates the passwords in an inventory's encrypted file of secrets.
import { argumentsOf } from '../lib/typescript.mjs';

const { outliveOutput } = await import('../lib/cli/closed-pipe.ts');
const { secretsCommandLine } = await import('../lib/cli/secrets/command.ts');
const { editPrivately } = await import('../lib/cli/secrets/editor.ts');
const { terminal } = await import('../lib/cli/terminal.ts');
const { keysAtHand } = await import('../lib/cli/secrets/unlock.ts');
const { inventorySecrets } = await import('../lib/node/database-passwords.ts');
const { passwordCharacters } = await import('../lib/node/inventory.ts');
const { howToChange } = await import('../lib/node/password-change.ts');

outliveOutput();
process.exitCode = await secretsCommandLine(argumentsOf('secrets.mjs'), {
  wanted: inventorySecrets,
  allowed: passwordCharacters,
  howToChange,
  keys: keysAtHand,
  terminal: terminal(),
  edit: editPrivately,
  say: (line) => console.log(line),
  complain: (line) => console.error(line),
});
