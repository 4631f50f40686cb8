#!/usr/bin/env zx
// Prints a script for bash or zsh that completes the command lines of the playbooks.
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const [first, folder = '', inventory = ''] = process.argv.slice(
  process.argv.findIndex((word) => word.endsWith('completions.mjs')) + 1,
);

if (first === 'hosts') {
  // Asked by the script itself, on each press of Tab: nothing is loaded that is not needed.
  const { namesForPatterns } = await import('../lib/cli/completions/hosts.mjs');
  for (const name of namesForPatterns(folder, inventory)) console.log(name);
} else {
  const { argumentsOf } = await import('../lib/typescript.mjs');
  const { completionsCommand } = await import('../lib/cli/completions/command.ts');
  process.exitCode = completionsCommand(argumentsOf('completions.mjs'), {
    root,
    say: (text) => console.log(text),
    complain: (line) => console.error(line),
  });
}
