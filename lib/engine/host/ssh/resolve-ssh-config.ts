import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { account } from '../../file/account.ts';
import { shellWord } from '../../text/shell-word.mjs';
import { Unreachable } from '../connection-errors.ts';
import { commonSettings } from './common-settings.ts';
import { isHarmless } from './option-table.ts';
import { readText } from './read-text.ts';
import { refuseOptions } from './refused-options.ts';
import { runSsh, type SshEnd } from './run-ssh.ts';
import { type GivenLogin, parseSshConfig, type SshConfig } from './ssh-config.ts';
import { parseSshSettings, type SshSettings } from './ssh-settings.ts';
import { refuseUnreadableConfig } from './unreadable-config.ts';

/**
 * The settings of ssh_config for a host, from `ssh -G`. Where no ssh is installed and there is no
 * ssh_config, the defaults of ssh apply.
 *
 * @param name the host in errors
 * @param address an address, or a name from ssh_config
 * @param options `jumps`: whether the inventory says how the host is reached
 * @throws Unreachable where ssh cannot read its configuration, with its own words, and for options
 * with which ssh runs no command
 */
export async function resolveSshConfig(
  name: string,
  address: string,
  { user, port }: GivenLogin = {},
  { jumps = false } = {},
): Promise<SshConfig> {
  refuseUnreadableConfig(name);
  const [common, withoutFiles] = await Promise.all([
    commonSettings(),
    // Never resolves (RFC 6761).
    runSsh(['-F', 'none', '-G', '--', 'any.invalid']),
  ]);
  const settings = common
    ? new Map([...common, ['host', [address]], ['hostname', [address.toLowerCase()]]])
    : await ownSettings(name, address, { user, port });
  const usual = parseSshSettings(withoutFiles.end === 'printed' ? withoutFiles.printed : '');
  refuseOptions(name, address, settings);
  return parseSshConfig(settings, { host: address, user, port, name, usual, jumps });
}

/**
 * Asks ssh for this host.
 *
 * @throws Unreachable
 */
async function ownSettings(name: string, address: string, { user, port }: GivenLogin): Promise<SshSettings> {
  const options = [
    ...(user === undefined ? [] : ['-l', user]),
    ...(port === undefined ? [] : ['-p', String(port)]),
  ];
  const words = ['-G', ...options, '--', address];
  const asked = await runSsh(words);
  // With ForkAfterAuthentication ssh wants a command, which it does not run with -G.
  const needsCommand = asked.end === 'failed' && /^Cannot fork into background/m.test(asked.said);
  const own = needsCommand ? await runSsh([...words, 'true']) : asked;
  if (own.end === 'missing') refuseUnreadConfig(name);
  return settingsOf(name, address, own);
}

function settingsOf(name: string, address: string, ran: SshEnd): SshSettings {
  switch (ran.end) {
    case 'printed':
      return parseSshSettings(ran.printed);
    case 'missing':
      return new Map();
    case 'late':
      throw new Unreachable(
        name,
        `ssh did not read its configuration for ${address} within ${ran.seconds} s`,
        `nothing was connected to. Find out which program of ssh_config takes so long (Match exec): ${byHand(address)}`,
      );
    case 'failed':
      throw new Unreachable(
        name,
        `ssh cannot read its configuration for ${address}: ${ran.said}`,
        `nothing was connected to, as users, keys and jump hosts may be in that configuration. Correct it, and try: ${byHand(address)}`,
      );
  }
}

function byHand(address: string): string {
  return `ssh -G ${shellWord(address)}`;
}

/**
 * The files that ssh reads, where there is no ssh to read them.
 *
 * @throws Unreachable for one with a setting that matters
 */
function refuseUnreadConfig(name: string): void {
  const folder = '/etc/ssh/ssh_config.d';
  const included = existsSync(folder) ? readdirSync(folder).filter((file) => file.endsWith('.conf')) : [];
  const files = [
    join(account().homedir, '.ssh/config'),
    '/etc/ssh/ssh_config',
    ...included.map((file) => join(folder, file)),
  ];
  const found = files.find((file) => (readText(file) ?? '').split('\n').some(matters));
  if (found === undefined) return;
  throw new Unreachable(
    name,
    `there is ${found}, and no program ssh that can read it`,
    'nothing was connected to, as users, keys and jump hosts may be in that file. Install OpenSSH (openssh-client), or move the file away',
  );
}

/**
 * Whether a line of ssh_config may change a connection. Packages of distributions have files
 * without such a line.
 */
function matters(line: string): boolean {
  if (
    /^\s*(#|$|(host|match)\b)/i.test(line) ||
    /^\s*include\s+\/etc\/ssh\/ssh_config\.d\/\*\.conf\s*$/i.test(line)
  )
    return false;
  return !isHarmless(/^\s*([^\s=]*)/.exec(line)?.[1]?.toLowerCase() ?? '');
}
