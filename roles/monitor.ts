import { readFileSync } from 'node:fs';
import type { Content } from '../lib/engine/resource/file/content.ts';
import { acceptedFile, directory, file, packages } from '../lib/engine/resource/kinds.ts';
import type { Resource } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { alertmanagerFile, receiversAnswer } from '../lib/node/monitor/alertmanager.ts';
import { packageUnit } from '../lib/node/monitor/package-unit.ts';
import { absentRules, jobs, targetsFile } from '../lib/node/monitor/targets.ts';
import { product } from '../lib/node/server/product.ts';
import { monitoringPorts } from '../lib/node/variables/monitoring.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const folder = `/etc/${product}/monitor`;
const template = (name: string) => readFileSync(new URL(`../templates/monitor/${name}`, import.meta.url), 'utf8');

/** A file that its own checker has accepted. The user `prometheus` reads it: it may hold secrets. */
const accepted = (name: string, content: string | Content, judge: readonly string[], source: string) =>
  acceptedFile({ path: `${folder}/${name}`, content, judge, source, mode: 0o640, group: 'prometheus' });

/** A folder of data, which the programs' own user writes to. */
const dataFolder = (path: string) => directory(path).mode(0o750).owner('prometheus').group('prometheus');

/** Prometheus and Alertmanager. Alertmanager first: an alert of the first minute has a place to go. */
export default role<Variables>('monitor', (context) => [...alertmanager(context), ...prometheus(context)]);

/**
 * Prometheus, with the deployment's hosts as its targets, and its rules. A changed list of targets needs no restart. `alertmanager` has
 * made the folders.
 */
function prometheus({ vars, hosts }: Context<Variables>): Resource[] {
  const data = `${vars.paths.data}/monitor/prometheus`;
  const rules = ['promtool', 'check', 'rules'];
  const ofTargets = 'the rules for the targets of the inventory';
  const ofPrometheus = 'templates/monitor/prometheus.yml';
  const { retention_days, retention_gb } = vars.monitoring;
  return packageUnit({
    name: 'prometheus',
    options: [
      `--config.file=${folder}/prometheus.yml`,
      `--web.listen-address=:${monitoringPorts.prometheus}`,
      `--storage.tsdb.path=${data}`,
      `--storage.tsdb.retention.time=${retention_days}d`,
      `--storage.tsdb.retention.size=${retention_gb}GB`,
    ],
    reads: ['rules.yml', 'targets.rules.yml', 'prometheus.yml'].map((name) => `${folder}/${name}`),
    before: [
      dataFolder(data),
      directory(`${folder}/targets`),
      ...jobs.map((job) => file(`${folder}/targets/${job}.json`).content(targetsFile(hosts, job))),
      accepted('rules.yml', template('rules.yml'), rules, 'templates/monitor/rules.yml'),
      accepted('targets.rules.yml', absentRules(hosts), rules, ofTargets),
      accepted('prometheus.yml', template('prometheus.yml'), ['promtool', 'check', 'config'], ofPrometheus),
    ],
  });
}

/** Alertmanager, which sends alerts to the receivers of the inventory, and has sent a test to each. */
function alertmanager({ vars }: Context<Variables>): Resource[] {
  const { receivers } = vars.monitoring;
  const path = `${folder}/alertmanager.yml`;
  const content = alertmanagerFile(receivers);
  const data = `${vars.paths.data}/monitor/alertmanager`;
  return [
    packages('curl'),
    directory(folder),
    directory(`${vars.paths.data}/monitor`),
    ...packageUnit({
      name: 'prometheus-alertmanager',
      options: [
        `--config.file=${path}`,
        `--storage.path=${data}`,
        `--web.listen-address=:${monitoringPorts.alertmanager}`,
        // One Alertmanager alone needs no port for others.
        '--cluster.listen-address=',
      ],
      reads: [path],
      before: [
        dataFolder(data),
        accepted('alertmanager.yml', content, ['amtool', 'check-config'], 'monitoring.receivers of the inventory'),
      ],
    }),
    ...(receivers.length > 0 ? [receiversAnswer(receivers, path)] : []),
  ];
}
