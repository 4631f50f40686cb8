import { readText } from './read-text.ts';
import { runSsh } from './run-ssh.ts';
import { parseSshSettings, type SshSettings } from './ssh-settings.ts';

/**
 * Lines of ssh_config(5) by which one host can differ from another: blocks for some hosts, other
 * names, tokens.
 */
const tellsApart = /^\s*(host\b(?!\s+\*\s*$)|match\b|hostname\b|canonical)|^[^#\n]*%/im;

/**
 * The settings of any host, if no file that ssh reads has settings for single hosts. `ssh -G` for
 * each of a thousand hosts takes longer than all else that is done for a host that needs nothing.
 *
 * @returns undefined where each host has to be asked for: its settings may differ, or ssh does not
 * say which files it reads
 */
export async function commonSettings(): Promise<SshSettings | undefined> {
  // Never resolves (RFC 6761), so no configuration names it.
  const ran = await runSsh(['-v', '-G', '--', 'any.invalid']);
  if (ran.end !== 'printed' || !ran.said.startsWith('OpenSSH')) return undefined;
  const files = [...ran.said.matchAll(/^debug1: Reading configuration data (.*?)\r?$/gm)];
  const texts = files.map(([, file = '']) => readText(file));
  if (texts.some((text) => text === undefined || tellsApart.test(text))) return undefined;
  return parseSshSettings(ran.printed);
}
