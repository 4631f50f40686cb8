#!/usr/bin/env zx
// Prints a script for bash or zsh that completes the command lines of the playbooks.
import { commandLine } from '../lib/start/command-line.mjs';

const [first, folder = '', inventory = ''] = commandLine;

if (first === 'hosts') {
  // Called by the script itself, on each press of Tab: it loads only what it needs.
  const { namesForPatterns } = await import('../lib/commands/completions/hosts.mjs');
  for (const name of namesForPatterns(folder, inventory)) console.log(name);
} else {
  const { program } = await import('../lib/start/program.mjs');
  const { completedCommands } = await import('../lib/start/completed.mjs');
  const { run, withCommands } = await program('lib/commands/completions/command.ts');
  process.exitCode = await run(commandLine, withCommands(await completedCommands()));
}
