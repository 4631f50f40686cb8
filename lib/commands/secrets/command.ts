import { command, standardOutput } from '../../engine/command-line/command.ts';
import { parseCommandLine } from '../../engine/command-line/command-line.ts';
import { availableKeys } from '../../engine/command-line/unlock.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { terminal } from '../../engine/output/terminal.ts';
import { describePlace, exitCode, Problem, Problems } from '../../engine/problem/problem.ts';
import { newPassword } from '../../engine/secret/password.ts';
import {
  changeSecretValues,
  parseSecretValues,
  refuseCommentsBeside,
  type SecretValues,
} from '../../engine/secret/secret-values.ts';
import { secretsFileOf } from '../../engine/secret/secrets-file.ts';
import { shellWord } from '../../engine/text/shell-word.mjs';
import { didYouMean } from '../../engine/text/suggest.ts';
import type { DatabasePassword, InventorySecrets } from '../../node/inventory/database-passwords.ts';
import { inventorySecrets } from '../../node/inventory/database-passwords.ts';
import { passwordCharacters } from '../../node/inventory/inventory.ts';
import { editPrivately } from './editor.ts';
import { type SecretsOptions, secretsOptions, secretsOptionsOf, secretsPage, verbs } from './options.ts';
import { lockFor, openStore, type SecretsDependencies, type Store, write } from './store.ts';

/** The state of one command line. */
interface Task extends Omit<InventorySecrets, 'file'> {
  readonly around: SecretsDependencies;
  readonly options: SecretsOptions;
  /** The file of secrets. */
  readonly file: string;
  /**
   * The values of a text.
   *
   * @throws Problems
   */
  values(text: string): SecretValues;
  /** The command line with other words. */
  command(words: string): string;
}

export const run = command({
  ...secretsPage,
  words: Object.keys(verbs),
  parse: (args) => parseCommandLine(args, secretsOptions, Object.keys(verbs), true),
  around: (): SecretsDependencies => ({
    ...standardOutput(),
    keys: availableKeys(undefined),
    terminal: terminal(),
    edit: editPrivately,
  }),
  async work({ given, words }, around) {
    const options = secretsOptionsOf(given, words);
    const inventory = await inventorySecrets(options.inventory);
    const file = secretsFileOf(inventory.file);
    const passwords = new Set(inventory.passwords.map(({ name }) => name));
    const allowed = (name: string) => (passwords.has(name) ? passwordCharacters : undefined);
    await actions[options.verb]({
      ...inventory,
      around: { ...around, keys: { ...around.keys, identity: options.identity } },
      options,
      file,
      values: (text) => parseSecretValues(text, file, allowed),
      command: (words) => `npx zx playbooks/secrets.mjs --inventory ${shellWord(options.inventory)} ${words}`,
    });
    return exitCode.converged;
  },
});

const actions = { generate, edit, show, rotate, rekey } as const;

async function generate(task: Task): Promise<void> {
  const { file, passwords, others, around } = task;
  const store = await openOrStart(task);
  const { current } = task.values(store.text);
  const names = [...new Set(passwords.map(({ name }) => name))];
  const missing = names.filter((name) => !current.has(name));
  if (missing.length > 0) {
    const made = new Map(missing.map((name) => [name, newPassword()]));
    await write(store, changeSecretValues(store.text, { current: made }), around);
    around.say(missing.map((name) => `made ${name}`).join('\n'));
  } else {
    around.say(`nothing to make: ${file} has ${names.join(', ')}`);
  }
  for (const name of others.filter((other) => !current.has(other))) {
    around.say(`${name} is still missing, and cannot be made up: ${task.command('edit')}`);
  }
  sayUnusedPasswords(passwords, task);
}

async function edit(task: Task): Promise<void> {
  const { file, around } = task;
  const store = await openOrStart(task);
  // Checked before the editor opens: nobody should type a text that cannot be saved.
  const lock = await lockFor(store, around);
  for (let { text } = store; ; ) {
    text = await around.edit(text, `${task.name}.secrets.yaml`);
    // As in git: an empty text cancels the edit.
    if (text === store.text || text.trim() === '') return around.say('nothing changed');
    try {
      task.values(text);
      refuseCommentsBeside(text, file);
      await write(store, text, around, lock);
      return around.say(`wrote ${file}`);
    } catch (error) {
      if (!(error instanceof Problem || error instanceof Problems) || !around.terminal) throw error;
      around.complain(describeError(error));
      const answer = await around.terminal.shown('go on editing? without it nothing is changed [Y/n] ');
      if (/^\s*n/i.test(answer)) throw new Problem('nothing was changed');
    }
  }
}

async function show(task: Task): Promise<void> {
  const { file, around, options } = task;
  const values = task.values((await openStore(file, around.keys)).text);
  const names = options.names.length > 0 ? options.names : [...values.current.keys()];
  refuseUnknown(names, values, task);
  for (const name of names) {
    const value = values.current.get(name);
    if (!options.reveal)
      around.say(`${name}${values.previous.has(name) ? '  (and the previous value)' : ''}`);
    // A single value can be piped to another program.
    else around.say(options.names.length === 1 ? `${value}` : `${name}: ${value}`);
  }
}

async function rekey({ file, around }: Task): Promise<void> {
  const store = await openStore(file, around.keys);
  await write(store, store.text, around, await lockFor(store, around, true));
}

/** Makes new passwords, and keeps the previous ones until the databases have the new. */
async function rotate(task: Task): Promise<void> {
  const { file, around, options, passwords } = task;
  const store = await openStore(file, around.keys);
  const values = task.values(store.text);
  if (options.done) return forget(task, store, values);
  const known = passwords.map(({ name }) => name).filter((name) => values.current.has(name));
  const names = options.names.length > 0 ? options.names : known;
  refuseUnknown(names, values, task);
  const foreign = names.find((name) => !known.includes(name));
  if (foreign !== undefined) {
    throw new Problem(`${foreign} is not a password of a database`, {
      hint: `change it where it is used, then here: ${task.command('edit')}`,
    });
  }
  if (names.length === 0)
    throw new Problem(`${file} has no password of a database`, { hint: task.command('generate') });
  const again = names.filter((name) => values.previous.has(name));
  if (again.length > 0) {
    throw new Problem(
      `the previous value of ${again.join(', ')} is still kept: a database may still use it`,
      {
        hint: `when a deploy has changed it and has converged: ${task.command('rotate --done')}`,
      },
    );
  }
  const text = changeSecretValues(store.text, {
    current: new Map(names.map((name) => [name, newPassword()])),
    previous: new Map(names.map((name) => [name, values.current.get(name)])),
  });
  await write(store, text, around);
  for (const name of names) around.say(`new ${name}; the previous value is kept under previous`);
  const chosen = passwords.filter(({ name }) => names.includes(name));
  if (chosen.some(({ isUsed }) => isUsed)) around.say(['', ...nextSteps(task)].join('\n'));
  sayUnusedPasswords(chosen, task);
}

/** What follows a rotation: a deploy changes the passwords where they are used. */
function nextSteps({ options, command }: Task): readonly string[] {
  return [
    '1. Deploy all servers, which changes the passwords in the databases and on every server. Where CI deploys, commit the file first:',
    `     npx zx playbooks/deploy.mjs --inventory ${shellWord(options.inventory)}`,
    '2. When that has converged, remove the previous ones:',
    `     ${command('rotate --done')}`,
  ];
}

async function forget({ around, options }: Task, store: Store, { previous }: SecretValues): Promise<void> {
  const names = options.names.length > 0 ? options.names : [...previous.keys()];
  const unknown = names.find((name) => !previous.has(name));
  if (unknown !== undefined)
    throw new Problem(`no previous value of ${unknown} is kept`, {
      hint: didYouMean(unknown, previous.keys()),
    });
  if (names.length === 0) return around.say('nothing to forget: no previous value is kept');
  const text = changeSecretValues(store.text, { previous: new Map(names.map((name) => [name, undefined])) });
  await write(store, text, around);
  for (const name of names) around.say(`forgot the previous value of ${name}`);
}

function openOrStart({ file, name, around }: Task): Promise<Store> {
  const heading = `# Secrets of the inventory ${name}, one NAME: VALUE a line. The inventory refers to each as secret:NAME.\n`;
  return openStore(file, around.keys, heading);
}

/** Says which lines the inventory needs to use the passwords of the file. */
function sayUnusedPasswords(passwords: readonly DatabasePassword[], { around, command }: Task): void {
  const lines = passwords.flatMap(({ name, path, elsewhere }) =>
    elsewhere.map((now) => `  ${describePlace(now.where)}  ${path}: secret:${name}   (now ${now.reference})`),
  );
  if (lines.length === 0) return;
  const start = ['', 'The inventory does not use them yet. Write there:'];
  const end = `Where databases exist already, keep their passwords: put them in by
  ${command('edit')}
and rotate them afterwards: docs/secrets.md`;
  around.say([...start, ...lines, end].join('\n'));
}

/**
 * @throws Problem where a name has no value
 */
function refuseUnknown(names: readonly string[], { current }: SecretValues, { file, command }: Task): void {
  const unknown = names.find((name) => !current.has(name));
  if (unknown === undefined) return;
  throw new Problem(`${file} has no secret called ${unknown}`, {
    hint: didYouMean(unknown, current.keys()) ?? command('generate'),
  });
}
