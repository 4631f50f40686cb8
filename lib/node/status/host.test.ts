import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newKeyPair } from '../../engine/secret/testing/keys.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { watchedHost } from './host.ts';

const limits = { staleAfter: 300, mostBehind: 20 };

/** Other hosts do not reach this machine at its address. */
const firewall = { connects_from: ['10.0.0.9'] };

/** A port that accepts connections and stays silent. */
async function silentPort(): Promise<number> {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

/** A server of the lab's inventory whose SSH server stays silent. */
async function silentHost(timeout: number, interrupt = new AbortController().signal) {
  return labHost({ port: await silentPort(), vars: { firewall } }, timeout, interrupt);
}

/** rpc-1 of the lab's inventory, with other settings. */
async function labHost(settings: object, timeout: number, interrupt = new AbortController().signal) {
  const inventory = await labDeployment([
    [['groups', 'rpc', 'rpc-1'], { address: '127.0.0.1', ...settings }],
  ]);
  const key = join(dirname(inventory), '../.lab/id_ed25519');
  writeFileSync(key, newKeyPair('ed25519').private, { mode: 0o600 });
  const { hosts } = await loadDeployment(inventory);
  const host = hosts.find(({ name }) => name === 'rpc-1');
  if (!host) throw new Error('no rpc-1');
  const options = { limits, timeout, becomePassword: undefined, interrupt };
  return watchedHost({ host, vars: host.vars, hosts }, options);
}

test('a silent host is unreachable after the time limit, and not later', async () => {
  const host = await silentHost(0.3);
  const status = await host.look();
  await host.close();
  expect(status).toMatchObject({ host: 'rpc-1', health: 'unreachable', state: undefined, findings: [] });
  expect(String(status?.error)).toContain('no answer within 0.3 s');
  expect(status?.seconds).toBeGreaterThan(0.25);
  // ssh2 itself waits for 20 seconds.
  expect(status?.seconds).toBeLessThan(15);
});

test('a host that is connected, and where a question hangs, is not said to be silent', async () => {
  const settings = {
    connection: 'local',
    vars: { firewall, ports: { rpc_http: await silentPort() } },
  };
  const host = await labHost(settings, 3);
  const status = await host.look();
  await host.close();
  expect(status).toMatchObject({ health: 'unreachable', state: undefined });
  expect(String(status?.error)).toContain(
    'connected, and not all that is asked there is answered within 3 s',
  );
});

test('Ctrl-C ends the wait for a host at once, and reports nothing about the host', async () => {
  const controller = new AbortController();
  // Longer than this test may take.
  const host = await silentHost(3600, controller.signal);
  setTimeout(() => controller.abort(), 50);
  expect(await host.look()).toBeUndefined();
});
