#!/usr/bin/env node
// The program of an installed package: `rpc-playbooks deploy --inventory mainnet` runs playbooks/deploy.mjs.
import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

// Messages name the command that was typed.
process.env.RPC_PLAYBOOKS_PROGRAM = 'rpc-playbooks';
const playbooks = new URL('../../playbooks/', import.meta.url);
process.argv = [process.execPath, 'rpc-playbooks.mjs', ...process.argv.slice(2)];
// It changes to the folder of -C, where a team's own playbooks are.
const { commandLine } = await import('./command-line.mjs');
const [verb = ''] = commandLine.splice(0, 1);

/** Playbooks by name: ours, and those of the project folder. */
const scripts = new Map(
  namesIn(readdirSync(playbooks)).map((name) => [name, fileURLToPath(new URL(`${name}.mjs`, playbooks))]),
);
try {
  const { ownFiles } = await import('./own.mjs');
  for (const path of ownFiles('playbooks')) {
    const [name = ''] = basename(dirname(path)) === 'playbooks' ? namesIn([basename(path)]) : [];
    if (scripts.has(name)) throw new Error(`${path}: rpc-playbooks has a playbook ${name}\n  give yours another name`);
    if (name !== '') scripts.set(name, path);
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(3);
}

const script = scripts.get(verb);
if (script !== undefined) {
  process.argv = [process.execPath, script, ...commandLine];
  await import(pathToFileURL(script).href).catch(refuse);
} else {
  if (verb !== '' && verb !== '--help') console.error(`there is no command ${verb}`);
  console.error(
    `Usage: rpc-playbooks COMMAND [options]\n\nCommands: ${[...scripts.keys()].sort().join(', ')}\n\nCOMMAND --help shows its options.`,
  );
  process.exitCode = verb === '--help' ? 0 : 3;
}

/** @param {string[]} files */
function namesIn(files) {
  return files.flatMap((name) => /^(\w[\w.-]*)\.mjs$/.exec(name)?.[1] ?? []);
}

/** @param {Error & { code?: string }} error */
function refuse(error) {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  console.error(`${error.message}\n  a playbook of your own uses the packages of its folder: npm install`);
  process.exit(3);
}
