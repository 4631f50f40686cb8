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

test.each([restore.tool, { resources: [] as const, jobs: 4 }])('it is a POSIX shell script', (tool) => {
  execFileSync('/bin/sh', ['-n'], { input: restoreScript({ ...restore, tool }) });
});

test('the databases are marked as restored by the script itself, and only at its end', () => {
  const script = restoreScript(restore);
  const runs = script.indexOf('/data/tool/node restore');
  expect(runs).toBeGreaterThan(script.lastIndexOf("'started'"));
  expect(script.indexOf("'complete'")).toBeGreaterThan(script.lastIndexOf('check_prover'));
  expect(script.lastIndexOf('check_prover')).toBeGreaterThan(runs);
});

test('pg_restore comes after the marks and before the checks, and one job is none of several', () => {
  const script = (jobs: number) => restoreScript({ ...restore, tool: { resources: [], jobs } });
  expect(script(4)).toContain('--jobs=4');
  expect(script(1)).not.toContain('--jobs');
  expect(script(4)).not.toContain('/opt/rpc-node/snapshot_restore.toml');
  const runs = script(4).indexOf('restore prover "$prover_archive"');
  expect(runs).toBeGreaterThan(script(4).lastIndexOf("'started'"));
  expect(script(4).lastIndexOf('check_prover')).toBeGreaterThan(runs);
  expect(script(4).indexOf("'complete'")).toBeGreaterThan(script(4).lastIndexOf('check_prover'));
});
