import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSession } from '../../engine/host/open-session.ts';
import { standInFor, temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { labDeployment } from '../../node/testing/lab-deployment.ts';
import { run as logsCommand } from './command.ts';

const line = (second: number, text: string) => `2024-05-01T12:00:0${second}.000000001Z ${text}\n`;

/** Runs the command on this machine, with a docker that prints a file. */
function logs(folder: string, said: string[], ...args: readonly string[]) {
  standInFor(
    'docker',
    `echo "$*" >> ${folder}/asked; cat ${folder}/log 2>/dev/null && exit; cat ${folder}/fault >&2; exit 1`,
  );
  const say = (text: string) => void said.push(text);
  return labDeployment([[['groups', 'database', 'db-1', 'connection'], 'local']]).then((lab) =>
    logsCommand([...args, '-i', lab, '-l', 'db-1'], { open: openSession, say, complain: say }),
  );
}

test('the last lines of a component are shown beside the name of the host', async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'log'), line(1, 'block 7') + line(2, 'block \u001b[2J8'));
  const said: string[] = [];
  expect(await logs(folder, said, 'sync', '--lines', '5')).toBe(0);
  expect(said).toEqual(['db-1  block 7', 'db-1  block \\x1b[2J8']);
});

test('--follow shows each new line once, until Ctrl-C', async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'log'), '');
  const said: string[] = [];
  const running = logs(folder, said, 'sync', '--follow');
  await expect.poll(() => existsSync(join(folder, 'asked')), { timeout: 20_000 }).toBe(true);
  writeFileSync(join(folder, 'log'), line(1, 'one'));
  await expect.poll(() => said, { timeout: 20_000 }).toEqual(['db-1  one']);
  writeFileSync(join(folder, 'log'), line(1, 'one') + line(2, 'two'));
  await expect.poll(() => said, { timeout: 20_000 }).toEqual(['db-1  one', 'db-1  two']);
  process.emit('SIGINT');
  expect(await running).toBe(130);
  expect(said).toHaveLength(2);
});

test('a component that is unknown, missing, or on no host', async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'fault'), 'Error: No such container: sync\n');
  const said: string[] = [];
  expect(await logs(folder, said, 'snyc')).toBe(3);
  expect(await logs(folder, said)).toBe(3);
  expect(await logs(folder, said, 'sync')).toBe(1);
  expect(said).toEqual([
    'unexpected word "snyc"\n  did you mean sync?',
    'the name of the component is missing\n  one of state-db, pool-db, prover, sync, json-rpc',
    'no host has a container sync\n  see status.mjs',
  ]);
});

// The words of Docker 20.10.
test.each([
  'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?',
  'Error response from daemon: configured logging driver does not support reading',
])('a log that Docker cannot read is no missing container: %s', async (words) => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'fault'), `${words}\n`);
  const said: string[] = [];
  expect(await logs(folder, said, 'sync')).toBe(1);
  expect(said).toEqual([
    `db-1  the log cannot be read: ${words.replace('Error response from daemon: ', '')}`,
  ]);
});
