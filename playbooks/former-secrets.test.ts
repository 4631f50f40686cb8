import { cpSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Changes } from '../lib/node/testing/lab-deployment.ts';
import { writeLabDeployment } from '../lib/node/testing/written-lab-deployment.ts';
import { folderForTest } from '../test/deploy/lab-inventory.ts';
import { runPlaybookIn } from '../test/deploy/playbook.ts';

const root = join(import.meta.dirname, '..');

/** Values of the inventory with a secret in them, in each form in which a rendered file has one. */
const withKeys = (deployment: string): Changes => [
  [['groups', 'database', 'db-1', 'connection'], 'local'],
  [['vars', 'paths'], { deployment }],
  [['vars', 'network', 'l1_rpc_url'], 'https://l1.example.org/v3/{{ env:L1_KEY }}'],
  [
    ['vars', 'network', 'trusted_sequencer_url'],
    'https://sequencer.example.org/?key={{ env:SEQUENCER_KEY }}',
  ],
  [['vars', 'node_config'], { Log: { '+Token': 'env:LOG_TOKEN' } }],
  [['vars', 'prover_config'], { '+apiKey': 'key {{ env:PROVER_KEY }}' }],
];
const names = ['L1_KEY', 'SEQUENCER_KEY', 'LOG_TOKEN', 'PROVER_KEY'];
const keys = (age: string) => Object.fromEntries(names.map((name) => [name, `${age}-${name}-${age}`]));

const records = () =>
  readdirSync(join(root, '.runs'))
    .filter((name) => name.includes('-former-secrets.'))
    .map((name) => join(root, '.runs', name));

/** The files of db-1, which is this machine, with the old keys. */
async function deployedWithOldKeys() {
  const folder = await folderForTest();
  const deployment = join(folder, 'deployment');
  const inventory = join(folder, 'inventory/former-secrets.yaml');
  renameSync(writeLabDeployment(folder, withKeys(deployment)), inventory);
  const rendered = await runPlaybookIn(keys('old'), 'render', '-i', inventory, '--out', join(folder, 'out'));
  expect(rendered.exitCode, rendered.output).toBe(0);
  cpSync(join(folder, 'out/db-1'), deployment, { recursive: true });
  onTestFinished(() => {
    for (const path of records()) rmSync(path);
  });
  const words = ['-i', inventory, '--limit', 'db-1', '--role', 'configuration', '--check', '--diff'];
  return { folder, check: (...more: string[]) => runPlaybookIn(keys('new'), 'deploy', ...words, ...more) };
}

test('after a key has changed, no plan, diff, report or record of a deploy shows the one that a host still has', async () => {
  const { folder, check } = await deployedWithOldKeys();
  const [plan, report] = [join(folder, 'plan'), join(folder, 'report.html')];
  const run = await check('--out', plan, '--report', report);
  expect(run.exitCode, run.output).toBe(2);
  const json = await check('--json');
  const texts = [plan, report, ...records()].map((path) => readFileSync(path, 'utf8'));
  expect(texts.length).toBe(4);
  for (const text of [run.output, json.output, ...texts]) {
    expect(text.match(/(old|new)-\w+-(old|new)/g)).toBe(null);
    expect(text).toContain('node.config.toml');
  }
});

test('of a changed address a diff shows the host', async () => {
  const { check } = await deployedWithOldKeys();
  const { output } = await check('--set', 'network.l1_rpc_url=https://other.example.org/v3/abcdef');
  expect(output).toContain('-URL = "https://l1.example.org/[secret]"');
  expect(output).toContain('+URL = "https://other.example.org/[secret]"');
});
