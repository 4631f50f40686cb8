#!/usr/bin/env zx
// Compares this project with other tools at the same work, on hosts of its own
// (docs/benchmarks.md).
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { commandLine } from '../../lib/start/command-line.mjs';
import '../typescript.mjs';

const { help, parseOptions } = await import('./options.ts');
const { prepare } = await import('./prepare.ts');
const { anyRuns, removeEmptyCgroups } = await import('./cgroup.ts');

const options = parseOptions(commandLine);
if (!options) {
  process.stdout.write(help);
} else if (anyRuns()) {
  console.error('another benchmark runs on this machine; two at once would measure each other');
  process.exitCode = 1;
} else {
  const missing = prepare((line) => console.error(line));
  // Each systemd needs several inotify instances. This is the only machine setting that changes,
  // until the end.
  const watchers = '/proc/sys/fs/inotify/max_user_instances';
  const usual = readFileSync(watchers, 'utf8');
  const needed = Math.max(Number(usual), 1024 + 32 * Math.max(...options.hosts));
  writeFileSync(watchers, String(needed));
  // Everything runs in private namespaces. When this process ends, also by kill -9, the first
  // process in them ends too, and then the kernel ends all others and removes mounts, addresses
  // and interfaces.
  const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
  // The shell reaps orphaned processes.
  const inside = [
    'sh',
    '-c',
    '"$@"; exit $?',
    'sh',
    process.execPath,
    fileURLToPath(new URL('inside.mjs', import.meta.url)),
  ];
  const input = JSON.stringify({ options, missing: Object.fromEntries(missing) });
  const running = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...namespaces, ...inside, input], {
    stdio: 'inherit',
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => running.kill('SIGKILL'));
  process.exitCode = await new Promise((resolve) => running.on('exit', (code) => resolve(code ?? 1)));
  writeFileSync(watchers, usual);
  removeEmptyCgroups();
}
