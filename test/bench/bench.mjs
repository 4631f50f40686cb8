#!/usr/bin/env zx
// Measures this project beside other tools at the same work, on hosts of its own (docs/benchmarks.md).
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { argumentsOf } from '../../lib/typescript.mjs';

const { help, parseOptions } = await import('./options.ts');
const { prepare } = await import('./prepare.ts');
const { removeEmptyCgroups } = await import('./cgroup.ts');

const options = parseOptions(argumentsOf('bench.mjs'));
if (!options) {
  process.stdout.write(help);
} else {
  const missing = prepare((line) => console.error(line));
  removeEmptyCgroups();
  // Everything goes on in namespaces of its own. Whatever ends this process, a kill -9 as well, ends the first process in there, and
  // with that one the kernel ends all others and drops mounts, addresses and interfaces.
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
  // The shell is there to reap what is left by others.
  const inside = [
    'sh',
    '-c',
    '"$@"; exit $?',
    'sh',
    process.execPath,
    fileURLToPath(new URL('inside.mjs', import.meta.url)),
  ];
  const told = JSON.stringify({ options, missing: Object.fromEntries(missing) });
  const { status } = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...namespaces, ...inside, told], {
    stdio: 'inherit',
  });
  removeEmptyCgroups();
  process.exitCode = status ?? 1;
}
