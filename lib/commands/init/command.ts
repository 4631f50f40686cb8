import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { type CommandOutput, command, standardOutput } from '../../engine/command-line/command.ts';
import { type Given, parseCommandLine, shared } from '../../engine/command-line/command-line.ts';
import { unfitness } from '../../engine/file/bounded-file.ts';
import { refuseSystemFolder } from '../../engine/file/folder-for-files.ts';
import { whyUnwritten } from '../../engine/file/private-output.ts';
import { shown } from '../../engine/file/shown-path.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { terminal } from '../../engine/output/terminal.ts';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import type { Ask } from '../../engine/secret/ask.ts';
import { isKeyOf } from '../../engine/text/keys.ts';
import { printable } from '../../engine/text/printable.ts';
import { installation } from '../../node/project/project-folder.ts';
import { inventoryWith, type Known, type NewHost, readHost, readUser } from './new-inventory.ts';

const inventories = { main: 'mainnet', test: 'testnet' } as const;
type Network = keyof typeof inventories;

export const initOptions = {
  network: { value: 'main|test', help: 'the network of the inventory', completes: Object.keys(inventories) },
  database: { value: '[NAME=]ADDRESS', help: 'the Database+Sync server; without NAME it is db-1' },
  rpc: {
    value: '[NAME=]ADDRESS',
    repeat: true,
    help: 'an RPC server, once for each; without NAME rpc-1, rpc-2, …',
  },
  user: { value: 'NAME', help: 'the user to log in as by SSH; default: that of your ssh_config' },
  help: shared.help,
} as const;

interface InitDependencies extends CommandOutput {
  /** Asks on the terminal; undefined without one. */
  readonly ask: Ask | undefined;
}

export const run = command({
  command: 'npx zx playbooks/init.mjs',
  usage: 'DIR [options]',
  purpose: 'makes a project folder: an inventory to fill in, a schema for editors, a job for CI.',
  options: initOptions,
  words: 'file',
  examples: ['my-fleet', 'my-fleet --network test --database 192.0.2.11 --rpc 192.0.2.21 --rpc 192.0.2.22'],
  exits: { 0: 'made', 3: 'bad input, or the folder is not empty: nothing was written' },
  more: [
    'On a terminal it asks for what the options leave out. It writes only into a new folder, or one without files.',
  ],
  parse: (args) => parseCommandLine(args, initOptions, args),
  around: (): InitDependencies => ({ ...standardOutput(), ask: terminal()?.shown }),
  async work({ given, words: [folder] }, around) {
    if (!folder)
      throw new Problem('the name of the folder is missing', { hint: 'init DIR, such as: init my-fleet' });
    refuseUnseen(folder);
    refuseUsed(folder);
    const answers = await answered(given, around);
    refuseClash(answers);
    const name = inventories[answers.network];
    const made = write(folder, name, answers);
    const there = printable(shown(folder));
    around.say(`made ${there}: ${made.join(', ')}`);
    around.say(
      `  next: fill in each <FILL: …> of ${there}/inventory/${name}.yaml; README.md has the commands`,
    );
    return exitCode.converged;
  },
});

const cannotBeMade = (folder: string, error: unknown) =>
  new Problem(`${folder} cannot be made (${whyUnwritten(error)})`, { cause: error });

/** A folder on the way may be closed to this user. */
function refuseUnseen(folder: string): void {
  try {
    statSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    throw cannotBeMade(folder, error);
  }
}

/**
 * A folder of git alone is a clone of a new repository. One that others can change would be
 * refused by every other command.
 */
function refuseUsed(folder: string): void {
  refuseSystemFolder(folder);
  const unfit = unfitness(folder, { alone: true, folder: resolve(folder) });
  if (unfit) throw new Problem(`${folder} ${unfit.message}`, { hint: unfit.hint });
  if (!existsSync(folder)) return;
  const hint = 'init needs a new folder: name another one';
  if (!statSync(folder).isDirectory()) throw new Problem(`${folder} is a file`, { hint });
  const there = readdirSync(folder).filter((name) => name !== '.git');
  const more = there.length > 5 ? `, and ${there.length - 5} more` : '';
  if (there.length > 0)
    throw new Problem(`${folder} is not empty: ${there.slice(0, 5).join(', ')}${more}`, { hint });
}

/** The values of the options, and on a terminal the answers for those that are left out. */
async function answered(given: Given<typeof initOptions>, { ask, complain }: InitDependencies) {
  const value = async <T>(
    option: string | undefined,
    question: string,
    read: (text: string) => T,
  ): Promise<T> => {
    if (option !== undefined || !ask) return read(option ?? '');
    for (;;) {
      const answer = (await ask(question)).trim();
      try {
        return read(answer);
      } catch (error) {
        complain(describeError(error));
      }
    }
  };
  const hosts = given.rpc.length > 0 ? given.rpc.join(' ') : undefined;
  return {
    network: await value(given.network, 'network, main or test: ', readNetwork),
    database: await value(given.database, 'address of the Database+Sync server (empty: later): ', (text) =>
      text === '' ? { name: 'db-1' } : readHost('--database', text, 'db-1'),
    ),
    rpc: await value(hosts, 'addresses of the RPC servers, with spaces between (empty: later): ', readHosts),
    user: await value(given.user, 'user to log in as (empty: that of your ssh_config): ', (text) =>
      text === '' ? undefined : readUser(text),
    ),
  };
}

function readNetwork(text: string): Network {
  if (isKeyOf(inventories, text)) return text;
  throw new Problem(text === '' ? 'no --network given' : `--network ${text}: there is no such network`, {
    hint: 'one of main, test',
  });
}

function readHosts(text: string): readonly NewHost[] {
  const words = text.split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return [{ name: 'rpc-1' }];
  const hosts = words.map((word, index) => readHost('--rpc', word, `rpc-${index + 1}`));
  const names = hosts.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return hosts;
  throw new Problem(`two RPC servers are named ${twice}`, {
    hint: 'give each a name of its own: NAME=ADDRESS',
  });
}

/**
 * @throws Problem for a server with two addresses, and for an address of two servers
 */
function refuseClash({ database, rpc }: Known): void {
  for (const { name, address } of rpc) {
    const isSameName = name === database.name;
    if (address === undefined || isSameName === (address === database.address)) continue;
    const clash = isSameName
      ? `has two addresses, ${database.address} and`
      : `and ${database.name} have one address,`;
    throw new Problem(`${name} ${clash} ${address}`, {
      hint: 'a server of both groups has one name and one address',
    });
  }
}

/**
 * @returns the files, relative to the folder
 */
function write(folder: string, name: string, known: Known): string[] {
  const from = (file: string) => readFileSync(join(installation, file), 'utf8');
  const { version } = JSON.parse(from('package.json')) as { version: string };
  const templates = readdirSync(join(installation, 'templates/project'), {
    recursive: true,
    withFileTypes: true,
  })
    .filter((file) => file.isFile())
    .map((file) => relative(installation, join(file.parentPath, file.name)))
    .map((file) => [
      // npm leaves some files with a dot out of a package.
      relative('templates/project', file).replace(/^dot-/, '.'),
      from(file).replaceAll('__INVENTORY__', name).replaceAll('__VERSION__', version),
    ]);
  const files: Readonly<Record<string, string>> = {
    [`inventory/${name}.yaml`]: inventoryWith(from(`inventory/${name}.yaml`), known),
    'inventory/schema.json': from('inventory/schema.json'),
    ...Object.fromEntries(templates),
  };
  try {
    for (const [file, text] of Object.entries(files)) {
      // Whatever the umask: what a group can change is refused later.
      mkdirSync(dirname(join(folder, file)), { recursive: true, mode: 0o755 });
      writeFileSync(join(folder, file), text, { flag: 'wx', mode: 0o644 });
    }
  } catch (error) {
    throw cannotBeMade(folder, error);
  }
  return Object.keys(files);
}
