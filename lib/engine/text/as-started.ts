/**
 * Writes the command lines in a text as the operator types them: with the installed package, `npx
 * zx playbooks/deploy.mjs` becomes `npx rpc-playbooks deploy`.
 */
export function asStarted(text: string): string {
  if (process.env.RPC_PLAYBOOKS_PROGRAM === undefined) return text;
  return text.replaceAll(/npx zx playbooks\/([\w-]+)\.mjs/g, 'npx rpc-playbooks $1');
}
