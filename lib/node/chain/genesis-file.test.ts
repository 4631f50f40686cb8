import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Stat } from '../../engine/host/host.ts';
import { unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { loadDeployment } from '../inventory/inventory.ts';
import { labDeployment } from '../testing/lab-deployment.ts';
import { genesisFile } from './genesis-file.ts';

const address = (digit: string): string => `0x${digit.repeat(40)}`;
const sound = (chainId = 55555): string =>
  JSON.stringify({
    root: `0x${'5'.repeat(64)}`,
    rollupCreationBlockNumber: 2,
    rollupManagerCreationBlockNumber: 1,
    l1Config: {
      chainId,
      polygonZkEVMAddress: address('1'),
      polygonRollupManagerAddress: address('2'),
      polTokenAddress: address('3'),
      polygonZkEVMGlobalExitRootAddress: address('4'),
    },
    genesis: [{ accountName: 'a', balance: '0', nonce: '0', address: address('b') }],
  });

const downloaded = '/opt/rpc-node/downloads/genesis.json';
const inPlace = '/opt/rpc-node/genesis.json';

/** The genesis file of a network with `wanted` in its inventory, and a host with these files. */
async function setUp(wanted: string, files: Record<string, string>) {
  const sha256 = createHash('sha256').update(wanted).digest('hex');
  const { hosts } = await loadDeployment(
    await labDeployment([[['vars', 'network', 'genesis', 'sha256'], sha256]]),
  );
  const vars = hosts[0]?.vars;
  if (!vars) throw new Error('no host');
  const there = new Map(Object.entries(files));
  const stat = { type: 'file', mode: 0o644, owner: 'root', group: 'root' } as Stat;
  const host = fakeHost([], {
    stat: async (path: string) => (there.has(path) ? stat : undefined),
    read: async (path: string) => (there.has(path) ? Buffer.from(there.get(path) ?? '') : undefined),
    place: (step) => {
      if (step.do === 'write') there.set(step.path, step.content.toString());
    },
  });
  return { resource: genesisFile(downloaded, vars), host, there };
}

test('a sound file is put in place once', async () => {
  const { resource, host, there } = await setUp(sound(), { [downloaded]: sound() });
  expect(await resource.check(host)).toMatchObject({
    is: 'drift',
    differences: [{ what: 'genesis file', was: 'absent' }],
  });
  await applyDrift(host, resource);
  expect(there.get(inPlace)).toBe(sound());
  expect(await resource.check(host)).toEqual({ is: 'ok' });
});

test('a file with another SHA-256, or one with faults, is never put where containers mount it', async () => {
  const other = await setUp(sound(), { [downloaded]: sound(1) });
  expect(await other.resource.check(other.host)).toEqual(unknownUntil(`${downloaded} is downloaded`));

  const faulty = await setUp('{"genesis":[]}', { [downloaded]: '{"genesis":[]}' });
  await expect(applyDrift(faulty.host, faulty.resource)).rejects.toThrow(
    /is refused:\n {2}root is missing\n.*\n.*\n {2}l1Config is missing\n {2}genesis is empty/,
  );
  expect(faulty.there.has(inPlace)).toBe(false);

  const wrong = JSON.stringify({ ...JSON.parse(sound()), genesis: Array.from({ length: 30 }, () => ({})) });
  const hopeless = await setUp(wrong, { [downloaded]: wrong });
  await expect(applyDrift(hopeless.host, hopeless.resource)).rejects.toMatchObject({
    message: expect.stringMatching(
      /is refused:\n {2}genesis\[0\]\.balance is missing\n[\s\S]*\n {2}and \d+ more$/,
    ),
    hint: 'the genesis file has to be for chain id 55555 and the current generation of the node; see network.genesis in the inventory',
  });

  const missing = await setUp(sound(), {});
  expect(await missing.resource.check(missing.host)).toEqual(unknownUntil(`${downloaded} is downloaded`));
});

test('a file of another inventory is replaced after the download, which check mode does not make', async () => {
  const { resource, host, there } = await setUp(sound(), { [inPlace]: '{}', [downloaded]: '{}' });
  expect(await resource.check(host)).toEqual(unknownUntil(`${downloaded} is downloaded`));
  there.set(downloaded, sound());
  await applyDrift(host, resource);
  expect(there.get(inPlace)).toBe(sound());
});

test('a file in place that has faults, or was changed, is seen', async () => {
  const { resource, host, there } = await setUp(sound(202401), { [inPlace]: sound(202401) });
  await expect(resource.check(host)).rejects.toThrow(
    /is refused:\n {2}l1Config\.chainId must be 55555, as the inventory says/,
  );
  there.set(inPlace, sound());
  there.set(downloaded, sound(202401));
  expect(await resource.check(host)).toMatchObject({ is: 'drift', differences: [{ what: 'SHA-256' }] });
});
