import { command } from '../../host/step.ts';
import { driftOf, ok, type Resource, unitChange } from '../resource.ts';
import { refuseNoText } from '../settings.ts';

/** States in which systemd starts nothing at boot by itself. */
const notAtBoot = ['disabled', 'masked', 'masked-runtime', 'static', 'indirect', ''];

/**
 * A systemd unit that does not run and does not start at boot. A unit that is not installed is
 * right, too. Other units can still start the unit, unless it is masked.
 *
 * @param name without a suffix it is a service
 * @example stoppedService('unattended-upgrades')
 */
export function stoppedService(name: string): Resource {
  refuseNoText('stoppedService', { name });
  const unit = name.includes('.') ? name : `${name}.service`;
  return {
    name: `${unit} is stopped and disabled`,
    changes: () => [unitChange(unit)],

    async check(host) {
      const state = await host.unit(unit);
      if (state.load === 'not-found') return ok;
      const isRunning = !['inactive', 'failed'].includes(state.active);
      const isEnabled = !notAtBoot.includes(state.enabled);
      return driftOf(
        [
          ...(isEnabled ? [{ what: 'at boot', was: state.enabled, wanted: 'disabled' }] : []),
          ...(isRunning ? [{ what: 'state', was: state.active, wanted: 'inactive' }] : []),
        ],
        [command`systemctl --quiet disable --now ${unit}`],
      );
    },
  };
}
