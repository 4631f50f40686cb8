import type { Duplex } from 'node:stream';
import { channelsOf } from './channels.ts';
import type { LogIn } from './link.ts';
import { logIn } from './ssh-login.ts';

/** Logs in by the SSH library. */
export const logInByLibrary: LogIn<Duplex> = async (hop, via, limits) => {
  const { ssh, ended, close } = await logIn(hop.name, hop.config, hop, via, limits);
  return {
    open: channelsOf(ssh),
    ended,
    forward: ({ host, port }) => ssh.forwardOut('127.0.0.1', 0, host, port),
    close,
  };
};
