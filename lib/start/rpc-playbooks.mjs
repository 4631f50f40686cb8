#!/usr/bin/env node
// The program of an installed package: `rpc-playbooks deploy --inventory mainnet` runs playbooks/deploy.mjs.
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const playbooks = new URL('../../playbooks/', import.meta.url);
const [, , verb = '', ...words] = process.argv;
const script = new URL(`${encodeURIComponent(verb)}.mjs`, playbooks);

if (verb !== '' && existsSync(script)) {
  process.argv = [process.execPath, fileURLToPath(script), ...words];
  await import(script.href);
} else if (verb === '--version') {
  process.argv = [process.execPath, 'rpc-playbooks.mjs', verb];
  await import('./command-line.mjs');
} else {
  const verbs = readdirSync(playbooks).flatMap((name) => /^(.+)\.mjs$/.exec(name)?.[1] ?? []);
  if (verb !== '' && verb !== '--help') console.error(`there is no command ${verb}`);
  console.error(
    `Usage: rpc-playbooks COMMAND [options]\n\nCommands: ${verbs.sort().join(', ')}\n\nCOMMAND --help shows its options.`,
  );
  process.exitCode = verb === '--help' ? 0 : 3;
}
