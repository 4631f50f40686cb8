import { dirname } from 'node:path';
import { command } from '../../host/step.ts';
import { directory } from '../file/directory.ts';
import { file } from '../file/file.ts';
import { checkParts, type Part } from '../parts.ts';
import { driftOf, fileChange, type Resource } from '../resource.ts';
import { ownUnits } from './service.ts';

/**
 * Settings of a systemd unit in a file of their own, which systemd has read: the unit's file stays
 * as its package has it. Nothing is restarted.
 *
 * @param unit with its suffix; it need not be there yet
 * @param name of the file, without its suffix
 * @example dropIn('docker.service', 'limits', '[Service]\nLimitNOFILE=65536\n')
 */
export function dropIn(unit: string, name: string, content: string): Resource {
  const path = `${ownUnits}${unit}.d/${name}.conf`;
  const parts: readonly Part[] = [
    [`${dirname(path)} `, directory(dirname(path))],
    [`${path} `, file(path).content(content)],
  ];
  return {
    name: `${unit} reads ${path}`,
    changes: () => [fileChange(path)],

    async check(host) {
      const [files, { needsReload }] = await Promise.all([checkParts(host, parts), host.unit(unit)]);
      const unread = needsReload
        ? [{ what: unit, was: 'systemd has not read its files', wanted: 'read' }]
        : [];
      const differences = files.differences.length > 0 ? files.differences : unread;
      return driftOf(differences, files.refusal ?? [...files.steps.flat(), command`systemctl daemon-reload`]);
    },
  };
}
