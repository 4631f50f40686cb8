import { Unreachable } from '../connection-errors.ts';
import { sshOption } from './option-table.ts';
import type { SshSettings } from './ssh-settings.ts';

/**
 * Refuses a host for which ssh_config sets what keeps ssh itself from running a command.
 *
 * @param name the host in errors
 * @param address what ssh was asked for
 * @throws Unreachable with all those options
 */
export function refuseOptions(name: string, address: string, settings: SshSettings): void {
  const found = [...settings].flatMap(([option, values]) => {
    const known = sshOption(option);
    return known?.isRefusable && !values.every(known.isFine) ? [`${known.name} ${values.join(' ')}`] : [];
  });
  if (found.length === 0) return;
  throw new Unreachable(
    name,
    `ssh_config sets ${found.join(', ')} for ${address}, which keeps ssh from running a command`,
    'nothing was connected to. See which file sets it: `ssh -v -G` with the address. To keep the default for this host, put a Host block with it above that line: the first value counts',
  );
}
