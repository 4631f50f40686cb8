import { execFile } from 'node:child_process';
import type { Hop } from './link.ts';

/**
 * Whether OpenSSH may log in at one of these hosts without a key of the user: by a ticket of
 * Kerberos, or by the host key of this machine.
 */
export async function logsInWithoutKey(hops: readonly Hop[]): Promise<boolean> {
  const isOn = (option: string) => hops.some(({ config }) => config.settings.get(option)?.[0] === 'yes');
  return isOn('hostbasedauthentication') || (isOn('gssapiauthentication') && (await hasTicket()));
}

/** Milliseconds. It reads a file, or asks a program on this machine. */
const ticketLimit = 5000;

function hasTicket(): Promise<boolean> {
  return new Promise((resolve) => {
    execFile('klist', ['-s'], { timeout: ticketLimit }, (error) => resolve(!error));
  });
}
