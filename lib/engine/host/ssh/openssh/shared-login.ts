import { Unreachable } from '../../connection-errors.ts';
import type { AnyWay, Hop, Login, LoginLimits } from '../link.ts';
import { renamed } from '../renamed-error.ts';

/** A login of several hosts. */
interface Shared {
  /** The name of the host that began it, in errors. */
  readonly name: string;
  readonly login: Promise<Login<AnyWay>>;
  /** Why it ended, once it has. */
  ended(): string | undefined;
  hosts: number;
  readonly abandon: AbortController;
}

const kept = new Map<string, Shared>();

/**
 * A login at a jump host for all hosts behind it: whoever is asked for a second factor there answers
 * once. It ends with the last of these hosts.
 *
 * @param key what decides about the login
 * @param logIn begins it
 */
export async function shareLogin<Via extends AnyWay>(
  { name }: Hop,
  key: string,
  limits: LoginLimits,
  logIn: (limits: LoginLimits) => Promise<Login<Via>>,
): Promise<Login<Via>> {
  const found = kept.get(key);
  const shared = found && found.ended() === undefined ? found : begin(name, key, limits, logIn);
  shared.hosts += 1;
  let isOver = false;
  const leave = async () => {
    if (isOver) return;
    isOver = true;
    shared.hosts -= 1;
    if (shared.hosts > 0) return;
    if (kept.get(key) === shared) kept.delete(key);
    shared.abandon.abort();
    await shared.login.then(
      (login) => login.close(),
      () => {},
    );
  };
  try {
    const login = (await untilAborted(name, limits.signal, shared.login)) as Login<Via>;
    return { ...login, close: leave };
  } catch (error) {
    void leave();
    throw renamed(error, shared.name, name);
  }
}

function begin(
  name: string,
  key: string,
  limits: LoginLimits,
  logIn: (limits: LoginLimits) => Promise<Login<AnyWay>>,
): Shared {
  const abandon = new AbortController();
  const login = logIn({ ...limits, signal: abandon.signal });
  let ended: Shared['ended'] = () => undefined;
  const shared: Shared = { name, login, hosts: 0, abandon, ended: () => ended() };
  kept.set(key, shared);
  login.then(
    (opened) => {
      ended = opened.ended;
    },
    () => {
      if (kept.get(key) === shared) kept.delete(key);
    },
  );
  return shared;
}

/** The login goes on for other hosts where one of them is interrupted. */
async function untilAborted<T>(name: string, signal: AbortSignal | undefined, login: Promise<T>): Promise<T> {
  if (!signal) return login;
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Unreachable(name, 'interrupted while connecting'));
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
  });
  try {
    return await Promise.race([login, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
