import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { proberFile } from '../../lib/node/monitor/prober-file.ts';
import { inventoryRules, jobs, targetsFile } from '../../lib/node/monitor/targets.ts';
import type { RenderContext } from '../../lib/node/render/render-context.ts';
import { monitoringPorts } from '../../lib/node/variables/monitoring.ts';
import { blackboxExporter, prometheus } from '../monitoring-programs.mjs';
import { get, until } from './gateway.ts';

const templates = join(import.meta.dirname, '../../templates/monitor');
const port = 28490;
const proberPort = 28491;
/** So many times faster than on a monitor: five minutes are ten seconds. */
const faster = 30;

/** A real Prometheus and blackbox_exporter with the files of a monitor, on which time goes faster. */
export interface Prometheus {
  /** Values of an expression, by the labels of each series. */
  query(expression: string): Promise<readonly { metric: Readonly<Record<string, string>>; value: number }[]>;
  /** The alerts that fire, each once, as `NAME HOST`. After a moment, for those who ask again. */
  firing(): Promise<readonly string[]>;
  /** blackbox_exporter ends. */
  stopProber(): Promise<void>;
  stop(): Promise<void>;
}

interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: { for?: string; expr: string }[] }[];
}

interface Monitor {
  readonly vars: RenderContext['vars'];
  /** Whose exporters it asks, at their addresses. */
  readonly hosts: RenderContext['hosts'];
  /** The rules that it evaluates, by their group: this machine is no healthy host. */
  readonly group: string;
  /** The given certificate of the gateways. */
  readonly certificate: string;
  /** A threshold that takes hours, and the one of the test in its place. */
  readonly sooner?: Readonly<Record<string, string>>;
}

/** Writes the files of a monitor. */
async function filesIn(
  folder: string,
  { vars, hosts, group, certificate, sooner = {} }: Monitor,
): Promise<void> {
  await mkdir(join(folder, 'targets'));
  const yaml = async (name: string) => {
    const text = await readFile(join(templates, name), 'utf8');
    return parse(text.replaceAll(`:${monitoringPorts.prober}`, `:${proberPort}`));
  };
  const write = (name: string, content: unknown) => writeFile(join(folder, name), JSON.stringify(content));
  const { alerting: _, ...configuration } = await yaml('prometheus.yml');
  // blackbox_exporter gives up half a second before the limit.
  const global = { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' };
  await write('prometheus.yml', { ...configuration, global, rule_files: ['*rules.yml'] });
  const groups = ((await yaml('rules.yml')) as Rules).groups.filter(({ name }) => name === group);
  for (const rule of groups.flatMap(({ rules }) => rules)) {
    if (rule.for) rule.for = shortened(rule.for);
    rule.expr = rule.expr.replace(/(?<=\[)\w+(?=\])/g, shortened);
    for (const [text, other] of Object.entries(sooner)) rule.expr = rule.expr.replace(text, other);
  }
  await write('rules.yml', { groups });
  await writeFile(join(folder, 'targets.rules.yml'), inventoryRules(hosts, vars));
  await writeFile(
    join(folder, 'blackbox.yml'),
    proberFile(hosts, () => certificate),
  );
  for (const job of jobs) await writeFile(join(folder, `targets/${job}.json`), targetsFile(hosts, job));
}

export async function startPrometheus(monitor: Monitor): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'prometheus-'));
  await filesIn(folder, monitor);
  const prober = start(blackboxExporter, [
    `--config.file=${folder}/blackbox.yml`,
    `--web.listen-address=127.0.0.1:${proberPort}`,
  ]);
  const program = start(prometheus, [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  const answering: Prometheus = {
    async query(expression) {
      const { text } = await get({ port, path: `/api/v1/query?query=${encodeURIComponent(expression)}` });
      const { error, data } = JSON.parse(text) as Answer;
      if (!data) throw new Error(`${expression}: ${error}`);
      return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async firing() {
      await sleep(250);
      const alerts = await answering.query('ALERTS{alertstate="firing"}');
      return [...new Set(alerts.map(({ metric }) => `${metric.alertname} ${metric.instance}`))].sort();
    },
    stopProber: prober.stop,
    async stop() {
      await Promise.all([program.stop(), prober.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
  // Otherwise another one could answer in its place.
  const isReady = async () =>
    program.runs() && prober.runs() && (await get({ port, path: '/-/ready' })).status === 200;
  await until(isReady, () => program.log() + prober.log(), 60);
  return answering;
}

interface Answer {
  readonly error?: string;
  readonly data?: { readonly result: readonly { metric: Record<string, string>; value: [number, string] }[] };
}

/** A duration of Prometheus, on the faster clock. */
function shortened(duration: string): string {
  const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  return `${Math.round((Number(count) * (seconds[unit] ?? Number.NaN) * 1000) / faster)}ms`;
}

/** A program that runs until it is stopped. */
export function start(path: string, words: readonly string[]) {
  let log = '';
  const program: ChildProcess = spawn(path, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  program.stderr?.on('data', (text) => {
    log += text;
  });
  const ended = new Promise((resolve) => program.once('exit', resolve));
  return {
    log: () => log,
    runs: () => program.exitCode === null,
    async stop() {
      program.kill('SIGKILL');
      await ended;
    },
  };
}
