import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { onFullDisk } from '../../engine/host/testing/full-disk.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { metricsProgram } from './textfiles.ts';

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
