import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../lib/engine/host/testing/local-connection.ts';
import { filledInventory } from '../lib/node/testing/filled-inventory.ts';

test.each([['--identity', '/srv/key'], ['--identity=/srv/key']])(
  'the timer opens the secrets with %s',
  (...words) => {
    const folder = temporaryDirectory();
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
    const script = ['node_modules/zx/build/cli.js', 'playbooks/schedule.mjs', '-i', join(folder, 'one.yaml')];
    const run = spawnSync(process.execPath, [...script, ...words, '--check', '--diff'], { encoding: 'utf8' });
    expect(run.stdout, run.stderr).toMatch(/drift-check .* --identity \/srv\/key/);
  },
);
