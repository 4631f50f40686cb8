import { Unreachable } from '../connection-errors.ts';
import { sshOption } from './option-table.ts';
import { differs, type SshSettings } from './ssh-settings.ts';

/** Refused options that an ssh before 8.5 has without any file. */
const usuallyOn = new Set(['checkhostip']);

/**
 * Refuses a host for which ssh_config sets an option that is not followed here.
 *
 * @param name the host in errors
 * @param address what ssh was asked for
 * @param usual the settings of that ssh without any file
 * @param jumps whether the inventory names jump hosts, which come before ProxyCommand
 * @throws Unreachable with all those options
 */
export function refuseOptions(
  name: string,
  address: string,
  {
    settings,
    usual,
    jumps,
  }: { readonly settings: SshSettings; readonly usual: SshSettings; readonly jumps: boolean },
): void {
  const found = [...settings].flatMap(([option, values]) => {
    const known = sshOption(option);
    const isUsual = !differs(settings, usual, option);
    if (known ? values.every(known.isFine) || (isUsual && usuallyOn.has(option)) : isUsual) return [];
    if (option === 'proxycommand' && jumps) return [];
    if (option === 'localcommand' && settings.get('permitlocalcommand')?.[0] !== 'yes') return [];
    return [{ option: known?.name ?? option, value: values.join(' ') }];
  });
  if (found.length === 0) return;
  const shown = found.map(({ option, value }) => `${option} ${value}`).join(', ');
  const isProxy = found.some(({ option }) => option === 'ProxyCommand');
  throw new Unreachable(
    name,
    `ssh_config sets ${shown} for ${address}, which is not supported here`,
    [
      ...(isProxy
        ? ['name the jump host instead of ProxyCommand: ProxyJump in ssh_config, or jump in the inventory']
        : []),
      'nothing was connected to. See which file sets it: `ssh -v -G` with the address. To keep the default for this host, put a Host block with it above that line: the first value counts',
    ].join('; '),
  );
}
