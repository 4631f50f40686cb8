import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { metricsProgram } from '../../lib/node/monitor/textfiles.ts';
import { nodeExporter } from '../monitoring-programs.mjs';
import { start } from './prometheus.ts';

const nothing = Object.fromEntries(
  ['CONTAINERS', 'SEQUENCER', 'OWN', 'LAYER1', 'STATE_USER', 'STATE_DATABASE', 'CERTIFICATES'].map((name) => [
    name,
    '',
  ]),
);

/** The metrics of a host, by its own script and a real node_exporter. */
export interface HostMetrics {
  /** Runs the script, as its timer does. */
  measure(): Promise<void>;
  /** node_exporter starts again. */
  start(): void;
  /** node_exporter ends. */
  stop(): Promise<void>;
}

/** Where the programs of a host run, if not on this machine. */
interface Place {
  /** What the commands begin with. */
  readonly script: readonly string[];
  readonly exporter: readonly string[];
  /** Further options of node_exporter. */
  readonly options: readonly string[];
}

/**
 * @param folder for all files
 * @param address on which node_exporter listens
 * @param settings of the script; what is not there is empty
 * @param environment of the script, beside that of this process
 * @param place of script and node_exporter; by default on this machine
 */
export async function startHostMetrics(
  folder: string,
  address: string,
  settings: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string>> = {},
  place: Place = { script: [], exporter: [], options: [] },
): Promise<HostMetrics> {
  const templates = join(import.meta.dirname, '../../templates/host');
  for (const name of ['textfiles', 'state']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'node-metrics'), metricsProgram('node-metrics'));
  for (const name of ['node-metrics.help', 'replica.sql'])
    await copyFile(join(templates, name), join(folder, name));
  await copyFile(join(templates, 'degraded-arrays.sh'), join(folder, 'degraded-arrays'));
  await chmod(join(folder, 'degraded-arrays'), 0o755);
  const own = {
    FIREWALL: join(folder, 'no-firewall'),
    TEXTFILES: join(folder, 'textfiles'),
    STATE: join(folder, 'state'),
  };
  const psql = join(folder, 'psql');
  const database = environment.PGHOST === undefined ? {} : { PSQL: psql };
  // The socket of a test's server is not where that of a container is.
  const client = '#!/bin/sh\nexec /usr/lib/postgresql/15/bin/psql "$@" -h "$PGHOST" -p "$PGPORT"\n';
  await writeFile(psql, client, { mode: 0o755 });
  const all = { ...nothing, ...own, ...database, ...settings };
  await writeFile(join(folder, 'metrics.conf'), shellSettings(all));
  const words = [
    ...place.exporter,
    nodeExporter,
    `--web.listen-address=${address}:9100`,
    '--collector.disable-defaults',
    '--collector.textfile',
    `--collector.textfile.directory=${own.TEXTFILES}`,
    ...place.options,
  ];
  // Which becomes the first of the words.
  const launch = () => start('env', words);
  let exporter = launch();
  const script = [...place.script, 'sh', join(folder, 'node-metrics'), join(folder, 'metrics.conf')];
  const env = { ...process.env, ...environment };
  return {
    measure: async () => void (await promisify(execFile)('env', script, { env })),
    start: () => {
      exporter = launch();
    },
    stop: () => exporter.stop(),
  };
}
