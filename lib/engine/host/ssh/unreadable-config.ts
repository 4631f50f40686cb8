import { readdirSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { account } from '../../file/account.ts';
import { readPlain, whyUnread } from '../../file/bounded-file.ts';
import { errorCode } from '../../text/error-code.ts';
import { Unreachable } from '../connection-errors.ts';

/**
 * Refuses a host where a part of ssh_config cannot be read. OpenSSH passes over its main files,
 * and over the folders of `Include` with a wildcard, without a word where it may not read them;
 * users and jump hosts in them would fall away.
 *
 * @param name the host in errors
 * @param own the operator's folder
 * @param system that of all users
 * @throws Unreachable with the path, and why it cannot be read
 */
export function refuseUnreadableConfig(
  name: string,
  own = join(account().homedir, '.ssh'),
  system = '/etc/ssh',
): void {
  const unreadable = unreadableConfig(own, system);
  if (unreadable === undefined) return;
  throw new Unreachable(
    name,
    `ssh passes over a part of its configuration without a word: ${unreadable}`,
    'nothing was connected to, as users, keys and jump hosts may be in it. Give it to the user who runs this, or move it away',
  );
}

/** What is there and cannot be read: its path with the reason. */
function unreadableConfig(own: string, system: string): string | undefined {
  const files = [
    { folder: own, file: join(own, 'config') },
    { folder: system, file: join(system, 'ssh_config') },
  ];
  for (const { folder, file } of files) {
    const { text, why } = read(file);
    if (why !== undefined) return `${file} ${why}`;
    for (const included of includedFolders(text, folder)) {
      const whyNot = whyUnlisted(included);
      if (whyNot !== undefined) return `${included}, which ${file} includes, ${whyNot}`;
    }
  }
  return undefined;
}

/** Of a file of ssh_config. Bytes. */
const longestConfig = 16 * 1024 ** 2;

/** The text of a file of ssh_config, or why ssh passes over it. */
function read(file: string): { readonly text: string; readonly why: string | undefined } {
  try {
    return { text: readPlain(file, longestConfig).toString(), why: undefined };
  } catch (error) {
    return { text: '', why: whyNot(error) };
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
  const code = errorCode(error);
  return code === 'ENOENT' || code === 'ENOTDIR' ? undefined : whyUnread(error);
}

/** The folders in which an `Include` of a file's text looks by a wildcard. */
function includedFolders(text: string, folder: string): string[] {
  const words = [...text.matchAll(/^\s*include[\s=]+(.*)$/gim)].flatMap(([, rest = '']) =>
    rest.trim().split(/\s+/),
  );
  return words
    .map((word) => word.replaceAll('"', '').replace(/^~(?=\/)/, () => account().homedir))
    .filter((word) => /[*?[]/.test(word) && !/[%$]/.test(word))
    .map((word) => dirname(isAbsolute(word) ? word : join(folder, word)))
    .filter((path) => !/[*?[]/.test(path));
}
