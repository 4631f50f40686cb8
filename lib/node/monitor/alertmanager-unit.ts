import { directory } from '../../engine/resource/file/directory.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { monitoringPorts } from '../variables/monitoring.ts';
import type { Variables } from '../variables/variables.ts';
import { acceptedByItsChecker, folderOfPrometheus, monitorFolder } from './accepted-file.ts';
import { alertmanagerFile, receiversAnswer } from './alertmanager.ts';
import { packageUnit } from './package-unit.ts';

/**
 * Alertmanager, which sends alerts to the receivers of the inventory, and has sent a test to each.
 */
export function alertmanagerRuns({ vars }: Context<Variables>): Resource[] {
  const { receivers } = vars.monitoring;
  const path = `${monitorFolder}/alertmanager.yml`;
  const data = `${vars.paths.data}/monitor/alertmanager`;
  const configuration = acceptedByItsChecker({
    name: 'alertmanager.yml',
    content: alertmanagerFile(receivers),
    judge: ['amtool', 'check-config'],
    source: 'monitoring.receivers of the inventory',
  });
  return [
    packages('curl'),
    directory(monitorFolder),
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
      before: [folderOfPrometheus(data), configuration],
    }),
    ...(receivers.length > 0 ? [receiversAnswer(receivers, path)] : []),
  ];
}
