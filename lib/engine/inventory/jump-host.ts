import { isIP } from 'node:net';

/** A jump host as it is written: `user@host:port`. */
export interface WrittenJump {
  readonly user: string | undefined;
  readonly host: string;
  readonly port: number | undefined;
}

/**
 * Parses `user@host:port`. The last @ ends the user, as for ssh; an IPv6 address is in brackets.
 *
 * @returns undefined for what can be no jump host
 */
export function parseJump(text: string): WrittenJump | undefined {
  const [, user, bracketed, plain, digits] =
    /^(?:(.+)@)?(?:\[([^\]]+)\]|([^:@]+))(?::(\d+))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? undefined : Number(digits);
  if (host === undefined || (bracketed?.includes(':') && isIP(bracketed) === 0)) return undefined;
  return port === undefined || (port >= 1 && port <= 65535) ? { user, host, port } : undefined;
}
