import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { type Restore, restoreScript } from './restore-script.ts';

const store = (name: 'state' | 'prover', table: string) => ({
  archive: { store: name, url: 'http://x', sha256: 'a'.repeat(64), path: `/data/snap shot/${name}.sql.tar.gz`, table },
  target: { container: 'state-db', user: 'state', database: `${name}_db` },
});

const restore: Restore = {
  state: store('state', 'state.l2block'),
  prover: store('prover', 'state.nodes'),
  proverUser: 'prover_user',
  snapshot: '2024-05-01',
  tool: { resources: [], command: '/data/tool/node' },
  configuration: '/opt/rpc-node/snapshot_restore.toml',
  log: '/data/snapshot/restore.log',
};

test('it is a POSIX shell script', () => {
  execFileSync('/bin/sh', ['-n'], { input: restoreScript(restore) });
});

test('the databases are marked as restored by the script itself, and only at its end', () => {
  const script = restoreScript(restore);
  const runs = script.indexOf('/data/tool/node restore');
  expect(runs).toBeGreaterThan(script.lastIndexOf("'started'"));
  expect(script.indexOf("'complete'")).toBeGreaterThan(script.lastIndexOf('check_prover'));
  expect(script.lastIndexOf('check_prover')).toBeGreaterThan(runs);
});
