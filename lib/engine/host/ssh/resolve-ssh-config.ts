import { commonSshConfig } from './common-ssh-config.ts';
import { runSsh } from './run-ssh.ts';
import { type GivenLogin, parseSshConfig, type SshConfig } from './ssh-config.ts';

/**
 * The output of `ssh -G` for a host. Without an ssh client the defaults of ssh apply.
 *
 * @param address an address, or a name from ssh_config
 */
export async function resolveSshConfig(address: string, { user, port }: GivenLogin = {}): Promise<SshConfig> {
  const options = [...(user === undefined ? [] : ['-l', user]), ...(port === undefined ? [] : ['-p', String(port)])];
  const printed = (await commonSshConfig()) ?? (await runSsh(['-G', ...options, '--', address]))?.printed;
  return parseSshConfig(printed ?? '', { host: address, user, port });
}
