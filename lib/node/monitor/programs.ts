import { readFileSync } from 'node:fs';
import { acceptedFile } from '../../engine/resource/file/accepted-file.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { product } from '../server/product.ts';
import { monitoringPorts } from '../variables/monitoring.ts';
import type { Variables } from '../variables/variables.ts';
import { alertmanagerFile, receiversAnswer } from './alertmanager.ts';
import { packageUnit } from './package-unit.ts';
import { absentRules, jobs, targetsFile } from './targets.ts';

const folder = `/etc/${product}/monitor`;
const template = (name: string) => readFileSync(new URL(`../../../templates/monitor/${name}`, import.meta.url), 'utf8');

/** The user `prometheus` reads the files: they may hold secrets. */
const forPrometheus = { mode: 0o640, group: 'prometheus' };

/** A folder of data, which the programs' own user writes to. */
const dataFolder = (path: string) => directory(path).mode(0o750).owner('prometheus').group('prometheus');

/**
 * Prometheus, with the deployment's hosts as its targets, and its rules. A changed list of targets needs no restart. `alertmanager` has
 * made the folders.
 */
export function prometheus({ vars, hosts }: Context<Variables>): Resource[] {
  const data = `${vars.paths.data}/monitor/prometheus`;
  const rules = (name: string, content: string, source: string) =>
    acceptedFile({
      path: `${folder}/${name}`,
      content,
      judge: ['promtool', 'check', 'rules'],
      source,
      ...forPrometheus,
    });
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
      rules('rules.yml', template('rules.yml'), 'templates/monitor/rules.yml'),
      rules('targets.rules.yml', absentRules(hosts), 'the rules for the targets of the inventory'),
      acceptedFile({
        path: `${folder}/prometheus.yml`,
        content: template('prometheus.yml'),
        judge: ['promtool', 'check', 'config'],
        source: 'templates/monitor/prometheus.yml',
        ...forPrometheus,
      }),
    ],
  });
}

/** Alertmanager, which sends alerts to the receivers of the inventory, and has sent a test to each. */
export function alertmanager({ vars }: Context<Variables>): Resource[] {
  const { receivers } = vars.monitoring;
  const path = `${folder}/alertmanager.yml`;
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
        acceptedFile({
          path,
          content: alertmanagerFile(receivers),
          judge: ['amtool', 'check-config'],
          source: 'monitoring.receivers of the inventory',
          ...forPrometheus,
        }),
      ],
    }),
    ...(receivers.length > 0 ? [receiversAnswer(receivers, path)] : []),
  ];
}
