import { sshOption } from './option-table.ts';
import { supportedAlgorithms } from './ssh-algorithms.ts';
import { differs, type SshSettings } from './ssh-settings.ts';

/** Options that ssh before 8.5 sets by default, and a later one does not. */
const usuallyOn = new Set(['checkhostip']);

/**
 * Whether ssh_config sets for a host what the SSH library cannot do: an option, or a list of
 * algorithms of which the library has none.
 *
 * @param usual the settings of that ssh without any file
 * @param jumps whether the inventory says how the host is reached, which comes before ProxyCommand
 */
export function hasOptionsBeyondLibrary(settings: SshSettings, usual: SshSettings, jumps: boolean): boolean {
  return [...settings].some(([option, values]) => {
    const known = sshOption(option);
    const isUsual = !differs(settings, usual, option);
    if (known ? values.every(known.isFine) || (isUsual && usuallyOn.has(option)) : isUsual)
      return !isUsual && isWithoutSupported(option, values);
    if (option === 'proxycommand' && jumps) return false;
    return option !== 'localcommand' || settings.get('permitlocalcommand')?.[0] === 'yes';
  });
}

function isWithoutSupported(option: string, [list = '']: readonly string[]): boolean {
  const supported = supportedAlgorithms.get(option);
  return supported !== undefined && !list.split(',').some((algorithm) => supported.includes(algorithm));
}
