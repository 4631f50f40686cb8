import { command, standardOutput } from '../../engine/command-line/command.ts';
import { parseCommandLine } from '../../engine/command-line/command-line.ts';
import { availableKeys } from '../../engine/command-line/unlock.ts';
import { shown } from '../../engine/file/shown-path.ts';
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
import { asRepeated } from '../../engine/text/as-started.ts';
import { shellWord } from '../../engine/text/shell-word.mjs';
import { didYouMean } from '../../engine/text/suggest.ts';
import type { DatabasePassword, InventorySecrets } from '../../node/inventory/database-passwords.ts';
import { inventorySecrets } from '../../node/inventory/database-passwords.ts';
import { passwordCharacters } from '../../node/inventory/inventory.ts';
import { certifyAuthority, newAuthorityKey } from './authority.ts';
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
      command: (words) =>
        asRepeated(`npx zx playbooks/secrets.mjs --inventory ${shellWord(options.inventory)} ${words}`),
    });
    return exitCode.converged;
  },
});

const actions = { generate, edit, show, rotate, rekey } as const;

async function generate(task: Task): Promise<void> {
  const { file, passwords, others, around } = task;
  const store = await openOrStart(task);
  const { current } = task.values(store.text);
  const { authority } = task;
  const names = [...new Set([...passwords.map(({ name }) => name), ...(authority ? [authority.name] : [])])];
  const missing = names.filter((name) => !current.has(name));
  const made = new Map(missing.map((name) => [name, newValue(name, task)]));
  if (missing.length > 0) {
    await write(store, changeSecretValues(store.text, { current: made }), around);
    around.say(missing.map((name) => `made ${name}`).join('\n'));
  } else {
    around.say(`nothing to make: ${file} has ${names.join(', ')}`);
  }
  if (authority) await certify(task, authority, made.get(authority.name) ?? current.get(authority.name));
  for (const name of others.filter((other) => !current.has(other))) {
    around.say(`${name} is still missing, and cannot be made up: ${task.command('edit')}`);
  }
  sayUnusedPasswords(passwords, task);
}

/** A value for a secret that is missing: a password, or the key of the authority. */
function newValue(name: string, { authority }: Task): string {
  return name === authority?.name ? newAuthorityKey() : newPassword();
}

type AuthoritySecret = NonNullable<Task['authority']>;

/** The certificate is made after the key is kept: a run that is killed in between leaves no loss. */
async function certify({ name, around }: Task, { file }: AuthoritySecret, key: string | undefined) {
  if (key !== undefined && (await certifyAuthority(name, file, key)))
    around.say(`${shown(file)} begins with the certificate of the authority: keep it beside the inventory`);
}

/** A new authority. Clients trust the former one, too, until its certificate is taken out. */
async function rotateAuthority(task: Task, authority: AuthoritySecret, store: Store): Promise<void> {
  const { around } = task;
  const key = newAuthorityKey();
  const text = changeSecretValues(store.text, { current: new Map([[authority.name, key]]) });
  await write(store, text, around);
  await certify(task, authority, key);
  around.say(
    `new ${authority.name}: deploy to all hosts, then take the former certificate out of ${shown(authority.file)} and deploy again`,
  );
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
  const { authority } = task;
  if (authority && options.names.includes(authority.name)) {
    if (options.names.length > 1)
      throw new Problem(`${authority.name} is rotated alone: its certificates have to be made again`, {
        hint: task.command(`rotate ${authority.name}`),
      });
    return rotateAuthority(task, authority, store);
  }
  const names = passwordsToRotate(task, values);
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

/**
 * The names of the passwords that are rotated: those of the command line, or all of databases.
 *
 * @throws Problem for a name that is not a password of a database, and where the file still keeps a
 * previous value
 */
function passwordsToRotate(task: Task, values: SecretValues): readonly string[] {
  const { file, options, passwords } = task;
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
  return names;
}

/** What follows a rotation: a deploy changes the passwords where they are used. */
function nextSteps({ options, command }: Task): readonly string[] {
  return [
    '1. Deploy all servers, which changes the passwords in the databases and on every server. Where CI deploys, commit the file first:',
    asRepeated(`     npx zx playbooks/deploy.mjs --inventory ${shellWord(options.inventory)}`),
    '2. When that has converged, remove the previous ones:',
    `     ${command('rotate --done')}`,
  ];
}

async function forget(task: Task, store: Store, { previous }: SecretValues): Promise<void> {
  const { around, options } = task;
  const names = options.names.length > 0 ? options.names : [...previous.keys()];
  const unknown = names.find((name) => !previous.has(name));
  if (unknown !== undefined)
    throw new Problem(`no previous value of ${unknown} is kept`, {
      hint: didYouMean(unknown, previous.keys()),
    });
  if (names.length === 0) return around.say('nothing to forget: no previous value is kept');
  await askWhetherDeployed(names, task);
  const text = changeSecretValues(store.text, { previous: new Map(names.map((name) => [name, undefined])) });
  await write(store, text, around);
  for (const name of names) around.say(`forgot the previous value of ${name}`);
}

/**
 * A database that no deploy has changed accepts only the value that is about to be deleted. As a
 * deploy does, this asks on a terminal alone.
 *
 * @throws Problem unless the answer is yes
 */
async function askWhetherDeployed(names: readonly string[], { around, options }: Task): Promise<void> {
  const question = `has a deploy of all servers ended with 0 since the rotation? until then a database accepts only the previous ${names.join(', ')} [y/N] `;
  const answer = await around.terminal?.shown(question);
  if (answer === undefined || /^\s*y(es)?\s*$/i.test(answer)) return;
  throw new Problem('nothing was changed', {
    hint: `a deploy that still has to change a password shows it: ${asRepeated(`npx zx playbooks/deploy.mjs --inventory ${shellWord(options.inventory)} --check`)}`,
  });
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
