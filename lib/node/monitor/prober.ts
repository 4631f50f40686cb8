import { file } from '../../engine/resource/file/file.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { monitoringPorts } from '../variables/monitoring.ts';
import { probesOf } from '../variables/probes.ts';
import type { Variables } from '../variables/variables.ts';
import { acceptedByItsChecker, monitorFolder } from './accepted-file.ts';
import { packageUnit } from './package-unit.ts';
import { certificatePath, proberFile } from './prober-file.ts';

/**
 * blackbox_exporter, by which Prometheus asks the gateways as their clients do. Without gateways
 * it is not installed.
 */
export function proberRuns({ hosts }: Context<Variables>): Resource[] {
  const probes = probesOf(hosts);
  if (probes.length === 0) return [];
  const path = `${monitorFolder}/blackbox.yml`;
  const given = probes.flatMap((probe) =>
    probe.certificate ? [file(certificatePath(probe)).content(probe.certificate)] : [],
  );
  const configuration = acceptedByItsChecker({
    name: 'blackbox.yml',
    content: proberFile(hosts),
    judge: ['prometheus-blackbox-exporter', '--config.check', '--config.file'],
    source: 'the gateways of the inventory',
  });
  return packageUnit({
    name: 'prometheus-blackbox-exporter',
    options: [`--config.file=${path}`, `--web.listen-address=127.0.0.1:${monitoringPorts.prober}`],
    // It reads certificates at each request.
    reads: [path],
    before: [...given, configuration],
  });
}
