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
import { get, until } from '../gateway/gateway.ts';
import { blackboxExporter, prometheus } from '../monitoring-programs.mjs';

const templates = join(import.meta.dirname, '../../templates/monitor');
const port = 28490;
const proberPort = 28491;
/** Of Alertmanager, where a test starts one. */
export const alertmanagerPort = 28493;

/** A real Prometheus and blackbox_exporter with the files of a monitor, on which time goes faster. */
export interface Prometheus {
  /** Values of an expression, by the labels of each series. */
  query(expression: string): Promise<readonly { metric: Readonly<Record<string, string>>; value: number }[]>;
  /** The alerts that fire, each once, as `NAME HOST`, or `NAME` where it is of no host. After a moment, for those who ask again. */
  firing(): Promise<readonly string[]>;
  /** Its files, as those in /etc/rpc-node/monitor. */
  readonly folder: string;
  /** Reads its files again, as after a deploy. */
  reload(): void;
  /** blackbox_exporter ends. */
  stopProber(): Promise<void>;
  stop(): Promise<void>;
}

interface Rule {
  readonly for?: string;
  readonly expr: string;
}

interface Rules {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

interface Monitor {
  readonly vars: RenderContext['vars'];
  /** Whose exporters it asks, at their addresses. */
  readonly hosts: RenderContext['hosts'];
  /** The rules that it evaluates, by their groups: this machine is no healthy host. */
  readonly groups: readonly string[];
  /** The given certificate of the gateways. Default: there is none. */
  readonly certificate?: string;
  /** A threshold that takes minutes or hours, and the one of the test in its place. */
  readonly sooner?: Readonly<Record<string, string>>;
  /** So many times faster than on a monitor. Default 30: five minutes are ten seconds. */
  readonly faster?: number;
}

const usualPace = 30;

/** A rule with shorter times and other thresholds. Its expression is the same otherwise. */
function soonerRule(rule: Rule, sooner: Readonly<Record<string, string>>, faster: number): Rule {
  const shorter = (duration: string) => shortened(duration, faster);
  let expr = rule.expr.replace(/(?<=\[)\w+(?=\])/g, shorter);
  for (const [text, other] of Object.entries(sooner)) expr = expr.replaceAll(text, other);
  return { ...rule, expr, ...(rule.for && { for: shorter(rule.for) }) };
}

/** Several monitors may run on this machine, beside the usual ports. */
function withPortsOfTests(text: string): string {
  const others = [
    [monitoringPorts.prober, proberPort],
    [monitoringPorts.prometheus, port],
    [monitoringPorts.alertmanager, alertmanagerPort],
  ];
  return others.reduce((all, [usual, own]) => all.replaceAll(`:${usual}`, `:${own}`), text);
}

/** Writes the files of a monitor. */
async function filesIn(
  folder: string,
  { vars, hosts, groups, certificate = '', sooner = {}, faster = usualPace }: Monitor,
): Promise<void> {
  await mkdir(join(folder, 'targets'));
  const yaml = async (name: string) => {
    const text = await readFile(join(templates, name), 'utf8');
    return parse(withPortsOfTests(text));
  };
  const write = (name: string, content: unknown) => writeFile(join(folder, name), JSON.stringify(content));
  const configuration = await yaml('prometheus.yml');
  // blackbox_exporter gives up half a second before the limit.
  const interval = faster > usualPace ? '1s' : '2s';
  const global = { scrape_interval: interval, scrape_timeout: interval, evaluation_interval: '1s' };
  await write('prometheus.yml', { ...configuration, global, rule_files: ['*rules.yml'] });
  const soon = (all: Rules['groups']): Rules['groups'] =>
    all.map(({ name, rules }) => ({ name, rules: rules.map((rule) => soonerRule(rule, sooner, faster)) }));
  const rules = ((await yaml('rules.yml')) as Rules).groups.filter(({ name }) => groups.includes(name));
  await write('rules.yml', { groups: soon(rules) });
  const { groups: ofTargets } = JSON.parse(inventoryRules(hosts, vars)) as Rules;
  await write('targets.rules.yml', { groups: soon(ofTargets) });
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
      const nameOf = ({ alertname, instance, host }: Readonly<Record<string, string>>) =>
        [alertname, instance ?? host ?? ''].join(' ').trim();
      return [...new Set(alerts.map(({ metric }) => nameOf(metric)))].sort();
    },
    folder,
    reload: program.reload,
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
function shortened(duration: string, faster: number): string {
  const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  return `${Math.round((Number(count) * (seconds[unit] ?? Number.NaN) * 1000) / faster)}ms`;
}

/** A program that runs until it is stopped. */
export function start(path: string, words: readonly string[]) {
  let log = '';
  // It ends with the process that started it, in any case.
  const all = ['--pdeathsig', 'KILL', path, ...words];
  const program: ChildProcess = spawn('setpriv', all, { stdio: ['ignore', 'ignore', 'pipe'] });
  program.stderr?.on('data', (text) => {
    log += text;
  });
  const ended = new Promise((resolve) => program.once('exit', resolve));
  return {
    log: () => log,
    runs: () => program.exitCode === null,
    reload: () => void program.kill('SIGHUP'),
    async stop() {
      program.kill('SIGKILL');
      await ended;
    },
  };
}

/**
 * Waits until exactly these alerts fire.
 *
 * @param patience seconds
 * @param also may fire as well
 * @returns seconds until then
 */
export async function onlyFire(
  monitor: Prometheus,
  wanted: readonly string[],
  patience: number,
  also: readonly string[] = [],
): Promise<number> {
  let [missing, others] = ['', ''];
  const exactly = async () => {
    const firing = await monitor.firing();
    missing = wanted.filter((alert) => !firing.includes(alert)).join(', ');
    others = firing.filter((alert) => !wanted.includes(alert) && !also.includes(alert)).join(', ');
    return missing === '' && others === '';
  };
  return until(exactly, () => `all but ${missing}, and also ${others}`, patience);
}
