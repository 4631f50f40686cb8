import type { Duplex } from 'node:stream';
import type { Unreachable } from '../connection-errors.ts';
import { channelsOf } from './channels.ts';
import { jumpKey } from './hops.ts';
import type { LogIn, Login } from './link.ts';
import { renamed } from './renamed-error.ts';
import { BeyondLibrary, logIn, NoKeyAccepted } from './ssh-login.ts';

/** Logs in by the SSH library. */
export const logInByLibrary: LogIn<Duplex> = async (hop, via, limits) => {
  if (!hop.isJump) return loginBy(hop, via, limits);
  const key = jumpKey(hop, hop.behind.at(-1));
  const first = firstLogins.get(key);
  if (first) {
    const refusal = await first.refusal;
    if (refusal) throw renamed(refusal, first.name, hop.name);
    return loginBy(hop, via, limits);
  }
  const login = loginBy(hop, via, limits);
  const refusal = login.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof BeyondLibrary || error instanceof NoKeyAccepted) return error;
      // It says nothing of the next attempt.
      firstLogins.delete(key);
      return undefined;
    },
  );
  firstLogins.set(key, { name: hop.name, refusal });
  return login;
};

/** A host's login at a jump host before those of all others. */
interface FirstLogin {
  /** The host's name in errors. */
  readonly name: string;
  /** Why the SSH library cannot log in there; undefined where it can. */
  readonly refusal: Promise<Unreachable | undefined>;
}

/**
 * The first logins at jump hosts. The hosts behind one wait for its result: a server counts logins
 * that end half-way, and shuts us out (PerSourcePenalties).
 */
const firstLogins = new Map<string, FirstLogin>();

async function loginBy(...[hop, via, limits]: Parameters<LogIn<Duplex>>): Promise<Login<Duplex>> {
  const { ssh, ended, close } = await logIn(hop.name, hop.config, hop, via, limits);
  return {
    open: channelsOf(ssh),
    ended,
    forward: ({ host, port }) => ssh.forwardOut('127.0.0.1', 0, host, port),
    close,
  };
}
