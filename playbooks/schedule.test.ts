import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../lib/engine/host/testing/local-connection.ts';
import { filledInventory } from '../lib/node/testing/filled-inventory.ts';

/** An inventory with a drift check, filled in. */
function writeInventory(folder: string): void {
  const answers = {
    database: '127.0.0.1',
    rpc: '127.0.0.2',
    password: 'password',
    url: 'http://127.0.0.1:9/x',
  };
  const checked = 'vars:\n  monitoring: { drift_check: { every_minutes: 60, user: nobody } }\n';
  const text = filledInventory(readFileSync('inventory/testnet.yaml', 'utf8'), answers).replace(
    /^vars:\n/m,
    checked,
  );
  writeFileSync(join(folder, 'one.yaml'), text);
  writeFileSync(join(folder, 'password'), 'Passw0rd-of-a-test', { mode: 0o600 });
}

/** The plan of a schedule. */
function planned(cwd: string, ...words: readonly string[]) {
  const script = [resolve('node_modules/zx/build/cli.js'), resolve('playbooks/schedule.mjs')];
  return spawnSync(process.execPath, [...script, ...words, '--check', '--diff'], { cwd, encoding: 'utf8' });
}

test('the timer finds the inventory from wherever it was made in the project folder', () => {
  const project = realpathSync(temporaryDirectory());
  const inventories = join(project, 'inventory');
  mkdirSync(inventories);
  writeFileSync(join(project, 'rpc-playbooks.yaml'), '');
  writeInventory(inventories);
  for (const cwd of [project, inventories]) {
    const run = planned(cwd, '-i', 'one');
    expect(run.stdout, run.stderr).toMatch(/drift-check \S+ \S+ inventory\/one\.yaml nobody .* -C \S+/);
  }
});

test.each([['--identity', '/srv/key'], ['--identity=/srv/key']])(
  'the timer opens the secrets with %s',
  (...words) => {
    const folder = temporaryDirectory();
    writeInventory(folder);
    const run = planned('.', '-i', join(folder, 'one.yaml'), ...words);
    expect(run.stdout, run.stderr).toMatch(/drift-check .* --identity \/srv\/key/);
  },
);
