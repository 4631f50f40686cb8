import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { onFullDisk } from '../../engine/host/testing/full-disk.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { metricsProgram } from './textfiles.ts';

test.each([
  '0xzz',
  '0x1+PATH[$(touch ran)]',
  'PATH[$(touch ran)]',
  '0xffffffffffffffffffff',
  '0x1","x":{"result":"0x2"},"y":"',
])('a sequencer or a layer 1 that answers %s for a number takes no other metric along', (number) => {
  const folder = temporaryDirectory();
  const [settings, metrics] = [join(folder, 'metrics.conf'), join(folder, 'rpc_node.prom')];
  const answers = ['SEQUENCER', 'OWN', 'LAYER1'].map((name) => `${name}=http://chain.example`);
  const places = ['FIREWALL=/nonexistent', `TEXTFILES=${folder}`, `STATE=${folder}`];
  writeFileSync(settings, ["CONTAINERS=''", "CERTIFICATES=''", ...answers, ...places].join('\n'));
  const block = { number, timestamp: '0x66f2d1e0', hash: `0x${'a'.repeat(64)}` };
  writeFileSync(join(folder, 'answer'), `{"jsonrpc":"2.0","id":1,"result":"${number}"}`);
  writeFileSync(join(folder, 'block'), `{"jsonrpc":"2.0","id":1,"result":${JSON.stringify(block)}}`);
  writeFileSync(join(folder, 'node-metrics.help'), '');
  copyFileSync(
    new URL('../../../templates/host/degraded-arrays.sh', import.meta.url),
    join(folder, 'degraded-arrays'),
  );
  chmodSync(join(folder, 'degraded-arrays'), 0o755);
  // In place of the program that asks.
  const probe = `#!/bin/sh\ncase $(cat) in *eth_getBlockByNumber*) cat ${folder}/block ;; *) cat ${folder}/answer ;; esac\n`;
  writeFileSync(join(folder, 'probe'), probe, { mode: 0o755 });
  const words = ['-c', metricsProgram('node-metrics'), join(folder, 'node-metrics'), settings];
  // A host may have bash as its sh.
  for (const shell of ['dash', 'bash']) {
    rmSync(metrics, { force: true });
    rmSync(join(folder, 'layer1'), { force: true });
    expect([shell, spawnSync(shell, words, { cwd: folder, encoding: 'utf8' })]).toMatchObject([
      shell,
      { status: 0, stderr: '' },
    ]);
    const text = readFileSync(metrics, 'utf8');
    expect(text).toContain('rpc_node_chain_up{source="sequencer"}');
    expect(text).toMatch(/^rpc_node_clock_synchronised [01]$/m);
    expect(text).toContain('rpc_node_metrics_seconds');
    expect(existsSync(join(folder, 'ran'))).toBe(false);
  }
});

test('on a full disk the metrics of a node stay as they were, and grow old', () => {
  const folder = temporaryDirectory();
  const [settings, metrics] = [join(folder, 'metrics.conf'), join(folder, 'rpc_node.prom')];
  const nothing = ['CONTAINERS', 'SEQUENCER', 'OWN', 'LAYER1', 'CERTIFICATES'].map((name) => `${name}=''`);
  writeFileSync(
    settings,
    [...nothing, 'FIREWALL=/nonexistent', `TEXTFILES=${folder}`, `STATE=${folder}`].join('\n'),
  );
  writeFileSync(metrics, 'former\n');
  const program = fileURLToPath(new URL('../../../templates/host/node-metrics', import.meta.url));
  const script = ['sh', '-c', metricsProgram('node-metrics'), program, settings];
  expect(spawnSync('sh', [...onFullDisk, ...script]).status).toBe(1);
  expect(readFileSync(metrics, 'utf8')).toBe('former\n');
  expect(spawnSync('sh', ['-c', 'exec "$@"', 'sh', ...script]).status).toBe(0);
  expect(readFileSync(metrics, 'utf8')).toContain('rpc_node_metrics_seconds');
});
