// Opens a shell on a host of the lab, or runs one command there.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isInstalled } from './engine.mjs';
import { identityFile, knownHosts, knownHostsFile } from './keys.mjs';
import { LabError } from './lab-error.mjs';
import { hostNamed, outside } from './layout.mjs';
import { runAsScript } from './script.mjs';

await runAsScript(import.meta.url, async ([name, ...words]) => {
  if (name === undefined) throw new LabError('Which host?', 'Usage: npm run lab:ssh HOST [-- COMMAND…]');
  const command = words[0] === '--' ? words.slice(1) : words;
  const [program = '', ...options] = await wayInto(name, command);
  const child = spawn(program, options, { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code ?? 1;
});

/**
 * By SSH if a client is installed, otherwise by the Docker engine. "outside" has no SSH server.
 *
 * @param {string} name
 * @param {readonly string[]} command
 */
async function wayInto(name, command) {
  if (name === 'outside') return intoContainer(outside.container, command);
  const host = hostNamed(name);
  if (!(await knownHosts()).has(host.address))
    throw new LabError('The lab is not up', 'Bring it up: npm run lab:up');
  if (!(await isInstalled('ssh'))) return intoContainer(host.container, command);
  const identity = ['-i', identityFile, '-o', 'IdentitiesOnly=yes', '-F', 'none'];
  const strict = ['-o', `UserKnownHostsFile=${knownHostsFile}`, '-o', 'StrictHostKeyChecking=yes'];
  return ['ssh', ...identity, ...strict, `${host.user}@${host.address}`, ...command];
}

/**
 * @param {string} container
 * @param {readonly string[]} command
 */
function intoContainer(container, command) {
  const terminal = process.stdin.isTTY ? ['--interactive', '--tty'] : ['--interactive'];
  return ['docker', 'exec', ...terminal, container, ...(command.length > 0 ? command : ['bash', '-l'])];
}
