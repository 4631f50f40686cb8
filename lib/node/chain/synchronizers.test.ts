import { spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createReader } from '../../engine/host/reader.ts';
import {
  connectLocally,
  standInFor,
  temporaryDirectory,
} from '../../engine/host/testing/local-connection.ts';
import { describeVerdict } from '../../engine/resource/resource.ts';
import { noSynchronizerOn } from './synchronizers.ts';

/**
 * A program of this name that does nothing for a while, run with these words.
 *
 * @returns its process id
 */
async function runs(name: string, ...words: readonly string[]): Promise<number> {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, '#!/bin/sh\nsleep 30\n');
  chmodSync(path, 0o755);
  const child = spawn(path, words, { stdio: 'ignore', detached: true });
  onTestFinished(() => void process.kill(-(child.pid ?? 0), 'SIGKILL'));
  await sleep(50);
  return child.pid ?? 0;
}

/**
 * What is seen on this machine. Other synchronizers may run here, so that only what a test started
 * is of interest.
 */
async function seen(own = false): Promise<string> {
  const connection = await connectLocally();
  try {
    return describeVerdict(await noSynchronizerOn(createReader(connection, 'here'), own));
  } finally {
    await connection.close();
  }
}

/**
 * Docker's client, as far as it is asked. No id is part of a real one.
 *
 * @param containers name, status, and command as Docker shows it, of each
 */
function docker(containers: readonly (readonly [name: string, status: string, command: string])[]): void {
  const lines = containers.map((words, at) => `test${at} ${words.join(' ')}`);
  standInFor('docker', `cat <<'END'\n${lines.join('\n')}\nEND`);
}

const commands: [name: string, words: string[], counts: boolean][] = [
  ['zkevm-node', ['run', '--network', 'custom', '--components', 'synchronizer'], true],
  ['node', ['run', '--cfg', '/c', '--components', 'rpc,synchronizer'], true],
  ['node', ['run', '--components=rpc', '--components=synchronizer'], true],
  ['node', ['run', '-co', 'synchronizer', '--cfg', '/c'], true],
  ['zkevm-node', ['run', '--cfg', '/c'], true],
  ['cdk-validium-node', ['run', '-c', '/c'], true],
  ['zkevm-node', ['run', '--components', 'rpc', '--http.api', 'eth'], false],
  ['zkevm-node', ['run', '--components=rpc'], false],
  ['zkevm-node', ['restore', '--cfg', '/c'], false],
  ['zkevm-node', ['version'], false],
  ['cargo', ['run'], false],
  ['sh', ['-c', 'zkevm-node run --components synchronizer'], false],
  ['docker', ['compose', '--file', '/f', 'up', '--detach', 'sync'], true],
  ['docker-compose', ['--file', '/f', 'up', 'sync'], true],
  ['docker', ['restart', '--time', '120', 'sync'], true],
  ['docker', ['compose', 'version'], true],
  // A check of ours, at the same time.
  ['docker', ['compose', 'version', '--short'], false],
  ['docker', ['compose', 'up', 'prover'], false],
  ['docker', ['logs', 'sync'], false],
];

test('a process outside of containers counts by its command', async () => {
  const started = await Promise.all(
    commands.map(async ([name, words]) => ({ name, words, pid: await runs(name, ...words) })),
  );
  const found = await seen();
  const verdicts = started.map(({ name, words, pid }) => [name, words, found.includes(`process ${pid} `)]);
  expect(verdicts, found).toEqual(commands);
});

test('what starts the own container is nothing to worry about on its own host', async () => {
  const pid = await runs('docker', 'start', 'sync');
  expect(await seen(true)).not.toContain(String(pid));
});

test('a container counts by its command, under any name, or by the name sync', async () => {
  docker([
    ['other/chain,sync', 'restarting', '"/app/some thing"'],
    ['twin', 'running', '"/app/zkevm-node run --components synchronizer"'],
    // Docker 20.10 of: sh -c, and three lines of a script.
    [
      'wrapped',
      'paused',
      String.raw`"docker-entrypoint.sh sh -c 'exec \"/app/zkevm-node\" \\\n\trun --cfg /app/c \\\n --components \"rpc, synchronizer\"'"`,
    ],
    ['json-rpc', 'running', '"/app/zkevm-node run --components rpc"'],
    ['state-db', 'running', '"docker-entrypoint.sh postgres -N 500"'],
  ]);
  const others = 'the container twin is running, the container wrapped is paused';
  const found = await seen();
  expect(found).toMatch(new RegExp(`^the container sync is restarting, ${others}`));
  expect(found).not.toMatch(/json-rpc|state-db/);
  expect(await seen(true)).toMatch(new RegExp(`^${others}`));
});

test('an engine that does not answer hides what it would start', async () => {
  standInFor('docker', 'exit 1');
  // Where other synchronizers run on this machine they are what is named.
  expect(await seen()).toMatch(/^unknown until docker is running$|is (a synchronizer|about to start)/);
});
