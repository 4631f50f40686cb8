import { describeError } from '../../engine/output/describe-error.ts';
import { type ExitCode, exitCode, exitCodeOfError, Problem, Problems } from '../../engine/problem/problem.ts';
import { newPassword } from '../../engine/secret/password.ts';
import { changeSecretValues, parseSecretValues } from '../../engine/secret/secret-values.ts';
import { secretsFileOf } from '../../engine/secret/secrets-file.ts';
import { shellWord } from '../../engine/text/shell-word.ts';
import { parseSecretsOptions, type SecretsOptions, secretsHelp } from './options.ts';
import { rotate } from './rotate.ts';
import { lockFor, newLock, openOrBegin, store } from './store.ts';
import {
  put,
  refuseUnknown,
  type SecretsDependencies,
  sayWhatRefersElsewhere,
  type Task,
  type WantedPassword,
} from './task.ts';

/** Runs the command. @param args what follows the script's name */
export async function secretsCommandLine<P extends WantedPassword>(
  args: readonly string[],
  around: SecretsDependencies<P>,
): Promise<ExitCode> {
  try {
    const options = parseSecretsOptions(args);
    if (!options) {
      around.say(secretsHelp.trimEnd());
      return exitCode.converged;
    }
    const inventory = await around.wanted(options.inventory);
    const file = secretsFileOf(inventory.file);
    const passwords = new Set(inventory.passwords.map(({ name }) => name));
    const task: Task<P> = {
      ...inventory,
      around,
      options,
      file,
      keys: around.keys(options.identity),
      command: (words) => `npx zx playbooks/secrets.mjs --inventory ${shellWord(options.inventory)} ${words}`,
      allowed: (name) => (passwords.has(name) ? around.allowed : undefined),
    };
    await verbs[options.verb](task);
    return exitCode.converged;
  } catch (error) {
    around.complain(describeError(error));
    return exitCodeOfError(error);
  }
}

const verbs: Readonly<Record<SecretsOptions['verb'], <P extends WantedPassword>(task: Task<P>) => Promise<void>>> = {
  generate,
  edit,
  show,
  rotate,
  rekey,
};

async function generate<P extends WantedPassword>(task: Task<P>): Promise<void> {
  const { file, passwords, others, around } = task;
  const held = await openOrBegin(file, task.keys, heading(task));
  const { current } = parseSecretValues(held.text, file, task.allowed);
  const names = [...new Set(passwords.map(({ name }) => name))];
  const missing = names.filter((name) => !current.has(name));
  if (missing.length > 0) {
    const lock = await lockFor(held, task.keys, around.terminal);
    const text = changeSecretValues(held.text, { current: new Map(missing.map((name) => [name, newPassword()])) });
    await put(task, held, text, lock);
    for (const name of missing) around.say(`made ${name}`);
  } else {
    around.say(`nothing to make: ${file} has ${names.join(', ')}`);
  }
  for (const name of others.filter((other) => !current.has(other))) {
    around.say(`${name} is still missing, and cannot be made up: ${task.command('edit')}`);
  }
  sayWhatRefersElsewhere(task);
}

async function edit<P extends WantedPassword>(task: Task<P>): Promise<void> {
  const { file, around } = task;
  const held = await openOrBegin(file, task.keys, heading(task));
  // First of all: nobody should type much and then learn that it cannot be kept.
  const lock = await lockFor(held, task.keys, around.terminal);
  for (let text = held.text; ; ) {
    text = await around.edit(text, `${task.name}.secrets.yaml`);
    // As git does: an editor that is left with nothing is one that was left.
    if (text === held.text || text.trim() === '') return around.say('nothing changed');
    try {
      parseSecretValues(text, file, task.allowed);
      await put(task, held, text, lock);
      return around.say(`wrote ${file}`);
    } catch (error) {
      if (!(error instanceof Problem || error instanceof Problems) || !around.terminal) throw error;
      around.complain(describeError(error));
      const answer = await around.terminal.shown('go on editing? without it nothing is changed [Y/n] ');
      if (/^\s*n/i.test(answer)) throw new Problem('nothing was changed');
    }
  }
}

async function show<P extends WantedPassword>(task: Task<P>): Promise<void> {
  const { file, around, options } = task;
  const held = await store(file, task.keys);
  const values = parseSecretValues(held.text, file, task.allowed);
  const names = options.names.length > 0 ? options.names : [...values.current.keys()];
  refuseUnknown(names, values, task);
  for (const name of names) {
    const value = values.current.get(name);
    if (!options.reveal) around.say(`${name}${values.previous.has(name) ? '  (and the former value)' : ''}`);
    // One that was asked for by its name can be piped on.
    else around.say(options.names.length === 1 ? `${value}` : `${name}: ${value}`);
  }
}

async function rekey<P extends WantedPassword>(task: Task<P>): Promise<void> {
  const held = await store(task.file, task.keys);
  await put(task, held, held.text, await newLock(held, task.keys, task.around.terminal));
}

function heading<P extends WantedPassword>({ name }: Task<P>): string {
  return `# Secrets of the inventory ${name}, one NAME: VALUE a line. The inventory refers to each as secret:NAME.\n`;
}
