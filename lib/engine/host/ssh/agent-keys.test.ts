import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { agentKeyTypes, listAgentKeys } from './agent-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'agent-keys-'));
const socket = join(folder, 'agent');

afterEach(() => rmSync(socket, { force: true }));

test('the keys of an agent are in its order', async () => {
  const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: ['ignore', 'pipe', 'ignore'] });
  try {
    await once(agent.stdout, 'data');
    const names = ['rsa', 'ed25519'];
    for (const type of names) {
      execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', join(folder, type)]);
      execFileSync('ssh-add', ['-q', join(folder, type)], { env: { ...process.env, SSH_AUTH_SOCK: socket } });
    }
    const blobs = names.map((type) => readFileSync(join(folder, `${type}.pub`), 'utf8').split(' ')[1]);
    expect((await listAgentKeys(socket))?.map((blob) => blob.toString('base64'))).toEqual(blobs);
    expect(await agentKeyTypes(socket)).toEqual(['ssh-rsa', 'ssh-ed25519']);
  } finally {
    agent.kill();
    await once(agent, 'close');
  }
});

test('an agent that accepts a connection and does not answer has no keys after some seconds', async () => {
  const silent = createServer(() => {}).listen(socket);
  await once(silent, 'listening');
  try {
    expect(await Promise.all([listAgentKeys(socket), agentKeyTypes(socket)])).toEqual([undefined, []]);
  } finally {
    silent.close();
  }
  expect(await listAgentKeys(socket)).toBeUndefined();
}, 20_000);
