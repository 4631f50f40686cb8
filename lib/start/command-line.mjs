import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { markedFolder } from '../node/project/marked-folder.mjs';
import { end } from './end.mjs';

refuseOlderNode();

const words = process.argv.slice(process.argv.findIndex((word) => word.endsWith('.mjs')) + 1);

/**
 * The words after the script on the command line, whether zx runs the script or node, without `-C
 * DIR`.
 */
export const commandLine = inFolder(words);
refuseRemovedFolder();

if (commandLine[0] === '--version') {
  // Before anything is compiled or loaded.
  const { name, version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  console.log(`${name} ${version}`);
  process.exit(0);
}

/**
 * Refuses a Node that lacks what the program uses: Debian 12 and Ubuntu 24.04 have Node 18. npm only
 * warns of it.
 */
function refuseOlderNode() {
  // As `engines` in package.json.
  const oldest = 20;
  if (Number.parseInt(process.versions.node, 10) >= oldest) return;
  end(
    `this is Node ${process.versions.node}, and rpc-playbooks needs Node ${oldest} or later\n  nodejs.org has newer ones; node --version shows which one the shell finds`,
  );
}

/** A shell may still be in a folder that somebody has removed. */
function refuseRemovedFolder() {
  try {
    process.cwd();
  } catch {
    end('the folder that this shell is in was removed\n  cd to the folder of your inventories');
  }
}

/**
 * Works in the folder of `-C DIR`, as git and make do.
 *
 * @param {string[]} all
 */
function inFolder(all) {
  const at = all.indexOf('-C');
  const dashes = all.indexOf('--');
  if (at === -1 || (dashes !== -1 && dashes < at)) return all;
  const [, folder] = all.splice(at, 2);
  if (all.slice(0, dashes === -1 ? all.length : dashes - 2).includes('-C'))
    end('-C is named twice\n  name one folder after it');
  // Messages have it in the commands that they name.
  process.env.RPC_PLAYBOOKS_FOLDER = folder;
  try {
    process.chdir(folder ?? '');
  } catch (error) {
    const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
    /** @type {Readonly<Record<string, string>>} */
    const reasons = { ENOTDIR: 'that is a file', EACCES: 'this user may not enter that folder' };
    const why = reasons[code] ?? 'there is no such folder';
    end(`-C ${folder ?? ''}: ${why}\n  name the folder of your inventories after -C`);
  }
  const isOurs = `${process.cwd()}/` === fileURLToPath(new URL('../..', import.meta.url));
  const makesOne = process.argv.some((word) => /(^|\/)init(\.mjs)?$/.test(word));
  if (!isOurs && !makesOne && markedFolder(process.cwd()) === undefined)
    end(
      `-C ${folder}: no rpc-playbooks.yaml is there or above\n  init makes such a folder; the file may be empty`,
    );
  return all;
}
