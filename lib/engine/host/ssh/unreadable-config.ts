import { closeSync, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { account } from '../../file/account.ts';

/**
 * A file or folder of ssh_config that is there and cannot be read. OpenSSH passes over its main files, and over the folders of `Include`
 * with a wildcard, without a word where it may not read them; users and jump hosts in them would fall away.
 *
 * @param own the operator's folder
 * @param system that of all users
 * @returns its path with the reason; undefined where all can be read
 */
export function unreadableConfig(own = join(account().homedir, '.ssh'), system = '/etc/ssh'): string | undefined {
  const files = [
    { folder: own, file: join(own, 'config') },
    { folder: system, file: join(system, 'ssh_config') },
  ];
  for (const { folder, file } of files) {
    const why = whyUnread(file);
    if (why !== undefined) return `${file} ${why}`;
    for (const included of includedFolders(file, folder)) {
      const whyNot = whyUnlisted(included);
      if (whyNot !== undefined) return `${included}, which ${file} includes, ${whyNot}`;
    }
  }
  return undefined;
}

function whyUnread(file: string): string | undefined {
  try {
    const opened = openSync(file, 'r');
    const isFile = fstatSync(opened).isFile();
    closeSync(opened);
    return isFile ? undefined : 'is no file';
  } catch (error) {
    return whyNot(error);
  }
}

function whyUnlisted(folder: string): string | undefined {
  try {
    readdirSync(folder);
    return undefined;
  } catch (error) {
    return whyNot(error);
  }
}

/** What is not there is no configuration. */
function whyNot(error: unknown): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : `cannot be read (${code})`;
}

/** The folders in which an `Include` of a file looks by a wildcard. */
function includedFolders(file: string, folder: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  const words = [...text.matchAll(/^\s*include[\s=]+(.*)$/gim)].flatMap(([, rest = '']) => rest.trim().split(/\s+/));
  return words
    .map((word) => word.replaceAll('"', '').replace(/^~(?=\/)/, () => account().homedir))
    .filter((word) => /[*?[]/.test(word) && !/[%$]/.test(word))
    .map((word) => dirname(isAbsolute(word) ? word : join(folder, word)))
    .filter((path) => !/[*?[]/.test(path));
}
