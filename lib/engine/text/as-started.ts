import { shellWord } from './shell-word.mjs';

/**
 * Writes the command lines in a text as the operator types them: with the installed package, `npx
 * zx playbooks/deploy.mjs` becomes `npx rpc-playbooks deploy`.
 */
export function asStarted(text: string): string {
  if (process.env.RPC_PLAYBOOKS_PROGRAM === undefined) return text;
  return text.replaceAll(/npx zx playbooks\/([\w-]+)\.mjs/g, 'npx rpc-playbooks $1');
}

/**
 * Like asStarted, for command lines to copy: with `-C DIR` they act in the folder of this run. A
 * text may be written so twice.
 */
export function asRepeated(text: string): string {
  const folder = process.env.RPC_PLAYBOOKS_FOLDER;
  if (folder === undefined) return asStarted(text);
  const command = /npx (?:zx playbooks\/[\w-]+\.mjs|rpc-playbooks [\w-]+)(?! -C |[\w-])/g;
  return asStarted(text).replaceAll(command, (found) => `${found} -C ${shellWord(folder)}`);
}
