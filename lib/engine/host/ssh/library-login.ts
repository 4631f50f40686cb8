import type { Duplex } from 'node:stream';
import { channelsOf } from './channels.ts';
import { jumpKey } from './hops.ts';
import type { LogIn, Login } from './link.ts';
import { BeyondLibrary, logIn } from './ssh-login.ts';

/** Logs in by the SSH library. */
export const logInByLibrary: LogIn<Duplex> = async (hop, via, limits) => {
  if (!hop.isJump) return loginBy(hop, via, limits);
  const key = jumpKey(hop, hop.behind);
  const first = firstLogins.get(key);
  if (first) {
    const refusal = await first;
    if (refusal) throw refusal;
    return loginBy(hop, via, limits);
  }
  const login = loginBy(hop, via, limits);
  const refusal = login.then(
    () => undefined,
    (error: unknown) => (error instanceof BeyondLibrary ? error : undefined),
  );
  firstLogins.set(key, refusal);
  return login;
};

/**
 * Whether the first login at a jump host showed that OpenSSH has to log in there. The hosts behind
 * it wait for that: a server counts logins that end half-way, and shuts us out (PerSourcePenalties).
 */
const firstLogins = new Map<string, Promise<BeyondLibrary | undefined>>();

async function loginBy(...[hop, via, limits]: Parameters<LogIn<Duplex>>): Promise<Login<Duplex>> {
  const { ssh, ended, close } = await logIn(hop.name, hop.config, hop, via, limits);
  return {
    open: channelsOf(ssh),
    ended,
    forward: ({ host, port }) => ssh.forwardOut('127.0.0.1', 0, host, port),
    close,
  };
}
