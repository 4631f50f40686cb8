import { readFileSync } from 'node:fs';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { monitoringPorts } from '../variables/monitoring.ts';
import type { Variables } from '../variables/variables.ts';
import { acceptedByItsChecker, folderOfPrometheus, monitorFolder } from './accepted-file.ts';
import { packageUnit } from './package-unit.ts';
import { inventoryRules, jobs, targetsFile } from './targets.ts';

const template = (name: string) =>
  readFileSync(new URL(`../../../templates/monitor/${name}`, import.meta.url), 'utf8');

/**
 * Prometheus, with the deployment's hosts as its targets, and its rules. A changed list of targets
 * needs no restart. Its folders are below those that `alertmanagerRuns` makes.
 */
export function prometheusRuns({ vars, hosts }: Context<Variables>): Resource[] {
  const data = `${vars.paths.data}/monitor/prometheus`;
  const { retention_days, retention_gb } = vars.monitoring;
  return packageUnit({
    name: 'prometheus',
    options: [
      `--config.file=${monitorFolder}/prometheus.yml`,
      `--web.listen-address=:${monitoringPorts.prometheus}`,
      `--storage.tsdb.path=${data}`,
      `--storage.tsdb.retention.time=${retention_days}d`,
      `--storage.tsdb.retention.size=${retention_gb}GB`,
    ],
    reads: ['rules.yml', 'targets.rules.yml', 'prometheus.yml'].map((name) => `${monitorFolder}/${name}`),
    before: [
      folderOfPrometheus(data),
      directory(`${monitorFolder}/targets`),
      ...jobs.map((job) => file(`${monitorFolder}/targets/${job}.json`).content(targetsFile(hosts, job))),
      ...configuration(hosts, vars),
    ],
  });
}

function configuration(hosts: Context<Variables>['hosts'], vars: Variables): Resource[] {
  const rules = ['promtool', 'check', 'rules'];
  return [
    acceptedByItsChecker({
      name: 'rules.yml',
      content: template('rules.yml'),
      judge: rules,
      source: 'templates/monitor/rules.yml',
    }),
    acceptedByItsChecker({
      name: 'targets.rules.yml',
      content: inventoryRules(hosts, vars),
      judge: rules,
      source: 'the rules for the targets of the inventory',
    }),
    acceptedByItsChecker({
      name: 'prometheus.yml',
      content: template('prometheus.yml'),
      judge: ['promtool', 'check', 'config'],
      source: 'templates/monitor/prometheus.yml',
    }),
  ];
}
