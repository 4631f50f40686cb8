#!/usr/bin/env node
// The program of an installed package: `rpc-playbooks deploy --inventory mainnet` runs
// playbooks/deploy.mjs.
import { readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { commandGroups } from './commands.mjs';
import { badInput, end } from './end.mjs';
import { checkImports, notTrusted } from './own-imports.mjs';

/** @typedef {typeof import('../commands/playbook/main.ts')} Main */

// Messages name the command that was typed.
process.env.RPC_PLAYBOOKS_PROGRAM = 'rpc-playbooks';
const playbooks = new URL('../../playbooks/', import.meta.url);
process.argv = [process.execPath, 'rpc-playbooks.mjs', ...process.argv.slice(2)];
// It changes to the folder of -C, where a team's own playbooks are.
const { commandLine } = await import('./command-line.mjs');
const [verb = ''] = commandLine.splice(0, 1);
const asksForHelp = ['', 'help', '--help', '-h'].includes(verb);
// `help deploy` is `deploy --help`.
const [about] = commandLine;
const chosen = asksForHelp && verb === 'help' && about !== undefined ? about : verb;
if (chosen !== verb) commandLine.splice(0, commandLine.length, '--help');

/** Playbooks by name: ours, and those of the project folder. */
const scripts = new Map(
  namesIn(readdirSync(playbooks)).map((name) => [name, fileURLToPath(new URL(`${name}.mjs`, playbooks))]),
);
try {
  const { ownFiles } = await import('./own.mjs');
  for (const path of ownFiles('playbooks')) {
    const [name = ''] = basename(dirname(path)) === 'playbooks' ? namesIn([basename(path)]) : [];
    if (scripts.has(name))
      throw new Error(`${path}: rpc-playbooks has a playbook ${name}\n  give yours another name`);
    if (name !== '') scripts.set(name, path);
  }
} catch (error) {
  end(error instanceof Error ? error.message : String(error));
}

const script = scripts.get(chosen);
if (verb.startsWith('-') && !asksForHelp) {
  const named = commandLine.find((word) => scripts.has(word));
  end(
    `unexpected option "${verb}"\n  the command comes first: rpc-playbooks ${named ?? 'COMMAND'} ${verb} …; only -C DIR may be before it`,
  );
}
if (script !== undefined) {
  process.argv = [process.execPath, script, ...commandLine];
  const isOwn = !script.startsWith(fileURLToPath(playbooks));
  // Before a playbook of the project folder, and not for ours: they start faster without.
  if (isOwn) checkImports();
  await import(pathToFileURL(script).href).catch((error) => refuse(error, isOwn ? script : undefined));
} else if (asksForHelp && chosen === verb) {
  console.log(overview());
  process.exitCode = verb === '' ? badInput : 0;
} else {
  /** @type {Main} */
  const { didYouMean } = await (await import('./program.mjs')).program('lib/commands/playbook/main.ts');
  console.error(
    `there is no command ${chosen}\n  ${didYouMean(chosen, [...scripts.keys()])}\n\n${overview()}`,
  );
  process.exitCode = badInput;
}

/** Each command with its sentence, by groups; the playbooks of the project folder last. */
function overview() {
  const ours = new Set(commandGroups.flatMap(({ commands }) => commands.map(({ name }) => name)));
  const own = [...scripts.keys()].filter((name) => !ours.has(name)).sort();
  const width = Math.max(...[...scripts.keys()].map((name) => name.length));
  const groups = commandGroups.map(({ title, commands }) =>
    [title, ...commands.map(({ name, sentence }) => `  ${name.padEnd(width)}  ${sentence}`)].join('\n'),
  );
  if (own.length > 0) groups.push(['Your own', ...own.map((name) => `  ${name}`)].join('\n'));
  return [
    'Usage: rpc-playbooks COMMAND [options]',
    ...groups,
    'COMMAND --help shows the options of a command.',
  ].join('\n\n');
}

/**
 * @param {string[]} files
 */
function namesIn(files) {
  return files.flatMap((name) => /^(\w[\w.-]*)\.mjs$/.exec(name)?.[1] ?? []);
}

/**
 * @param {unknown} thrown
 * @param {string | undefined} own the team's own playbook that it is of
 */
async function refuse(thrown, own) {
  const error = /** @type {Error & { code?: string }} */ (
    thrown instanceof Error ? thrown : new Error(String(thrown))
  );
  if (error.code === notTrusted) end(error.message);
  if (error.code === 'ERR_MODULE_NOT_FOUND')
    end(`${error.message}\n  a playbook of your own uses the packages of its folder: npm install`);
  if (own === undefined) throw thrown;
  const { playbookError } = await import('./playbook-error.mjs');
  const words = commandLine.includes('--verbose') ? error.stack : await playbookError(own, error);
  // Node has run nothing of it then.
  if (error instanceof SyntaxError) end(words ?? error.message);
  console.error(words);
  process.exit(1);
}
