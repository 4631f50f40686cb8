import type { Reader } from '../../engine/host/host.ts';
import type { Variables } from '../variables/variables.ts';

/** The distribution's own time service. It uses the distribution's servers. */
export const timesyncd = 'systemd-timesyncd';

/**
 * Systemd-timesyncd is enough where it is enabled and has synchronised the clock. Time servers of
 * the inventory are for chrony: with them the host is not asked.
 */
export async function timesyncdIsEnough(host: Reader, { time_servers }: Pick<Variables, 'time_servers'>) {
  if (time_servers.length > 0) return false;
  const [unit, synchronised] = await Promise.all([
    host.unit(`${timesyncd}.service`),
    host.$`timedatectl show --property=NTPSynchronized --value`,
  ]);
  return unit.active === 'active' && unit.enabled === 'enabled' && synchronised.text() === 'yes';
}
