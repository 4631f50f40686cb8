import pLimit from 'p-limit';
import { printable } from '../../../text/printable.ts';
import { shellWord } from '../../../text/shell-word.mjs';
import { Unreachable } from '../../connection-errors.ts';
import { agentKeyTypes, listAgentKeys } from '../agent-keys.ts';
import { jumpKey } from '../hops.ts';
import { pinnedKeys } from '../host-key.ts';
import { type KeyFile, lockedKey } from '../key-file.ts';
import type { Hop, LogIn, Login, LoginLimits, ProxyCommand } from '../link.ts';
import { readNamedKey } from '../ssh-keys.ts';
import { NoKeyAccepted } from '../ssh-login.ts';
import { explainEnd, lateHost } from './explain-end.ts';
import { type Master, privateFolder, startMaster } from './master.ts';
import { optionsFor } from './options.ts';
import { anyHost, sessionsOf, throughMaster } from './sessions.ts';
import { shareLogin } from './shared-login.ts';
import { wordsOf } from './words-of.ts';

/** In a ProxyCommand a shell reads the word, after ssh has put in what `%h` and `%p` stand for. */
const word = (text: string): string => (/%/.test(text) ? `'${text}'` : shellWord(text));

/** As ssh itself does for ProxyJump. */
function wayThrough(master: Master): ProxyCommand {
  const words = [...throughMaster(master.socket), '-W', '[%h]:%p'].map(word);
  return {
    command: ['ssh', ...words, ...anyHost].join(' '),
    refusal(said) {
      if (!said.some((line) => /^stdio forwarding request failed/i.test(line))) return undefined;
      // The master does not say which host it is about.
      const reasons = master.said().flatMap((line) => /open failed: (.*)$/.exec(line)?.[1] ?? []);
      return [...new Set(reasons)].join(', or ') || 'it did not say why';
    },
  };
}

/**
 * For the touch of a security key, which counts for no time limit of ours; the key has one of its
 * own. Seconds.
 */
const touchLimit = 60;

/** Logins in which the operator is asked, one at a time: there is one terminal. */
const turns = pLimit(1);

/** The login has to begin again: its question waits for those of other logins. */
class HasToWait extends Error {}

/** The login has to begin again: the server asks, and other keys have not been tried. */
class AsksTooEarly extends Error {}

/** Logs in by OpenSSH, which reads the operator's ssh_config itself. */
export const logInByOpenSsh: LogIn<ProxyCommand> = async (hop, via, limits) => {
  const { name, config } = hop;
  if (config.settings.size === 0) {
    const hint = 'nothing was connected to. Install OpenSSH (openssh-client)';
    throw new Unreachable(name, 'there is no program ssh for ssh.client of the inventory', hint);
  }
  if (!hop.isJump) return loginOf(await byKeys(hop, via, limits));
  return shareLogin(hop, jumpKey(hop, via?.command), limits, async (own) =>
    loginOf(await byKeys(hop, via, own)),
  );
};

function loginOf(master: Master): Login<ProxyCommand> {
  return {
    open: sessionsOf(master),
    ended: () => (master.isEnded() ? (wordsOf(master.said()).at(-1) ?? 'the host closed it') : undefined),
    forward: async () => wayThrough(master),
    close: () => master.end(),
  };
}

/**
 * ssh tries all keys of an agent before a key file, and a server allows few (MaxAuthTries). So the
 * key that the inventory names is tried without them first.
 */
async function byKeys(hop: Hop, via: ProxyCommand | undefined, limits: LoginLimits): Promise<Master> {
  const others = await otherKeys(hop, limits);
  if (!others) return loggedIn(hop, via, limits, false);
  try {
    return await loggedIn(hop, via, limits, true);
  } catch (refusal) {
    if (refusal instanceof AsksTooEarly) return loggedIn(hop, via, limits, false);
    if (!(refusal instanceof NoKeyAccepted)) throw refusal;
    return await loggedIn(hop, via, limits, false).catch((error: unknown) => {
      throw error instanceof NoKeyAccepted ? refusal : error;
    });
  }
}

/**
 * A server ends a login that takes long (LoginGraceTime), and ssh does not notice that while it
 * waits for an answer. So a login whose question has to wait ends, and begins again in its turn.
 *
 * @param isAlone whether the key of the inventory is tried without those of the agent
 * @returns a master that is logged in
 * @throws NetworkError where the network is at fault, Unreachable for all else
 */
async function loggedIn(
  hop: Hop,
  via: ProxyCommand | undefined,
  limits: LoginLimits,
  isAlone: boolean,
): Promise<Master> {
  const turn = turnIfFree();
  try {
    return await tryOnce(hop, via, limits, { isAlone, mayAsk: turn.take });
  } catch (error) {
    if (!(error instanceof HasToWait)) throw error;
  } finally {
    turn.end();
  }
  return turns(() => tryOnce(hop, via, limits, { isAlone, mayAsk: () => true }));
}

function turnIfFree(): { take(): boolean; end(): void } {
  let isTaken = false;
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const take = () => {
    if (isTaken || turns.activeCount > 0) return isTaken;
    isTaken = true;
    void turns(() => ended);
    return true;
  };
  return { take, end: () => end() };
}

/**
 * @param trial `mayAsk`: whether the operator can be asked at this moment
 * @throws HasToWait where not; else like loggedIn
 */
async function tryOnce(
  hop: Hop,
  via: ProxyCommand | undefined,
  limits: LoginLimits,
  { isAlone, mayAsk }: { readonly isAlone: boolean; mayAsk(): boolean },
): Promise<Master> {
  const { signal, timeout } = limits;
  const { asks, canAsk } = askingBy(limits);
  const interrupted = () => new Unreachable(hop.name, 'interrupted while connecting');
  if (signal?.aborted) throw interrupted();
  const folder = privateFolder();
  const { words, environment } = optionsFor(hop, via?.command, folder, { timeout, asks: canAsk, isAlone });
  const late = lateTimer(timeout);
  let stopped: Error | undefined;
  const answer = async (question: string) => {
    late.stop();
    try {
      if (stopped) throw stopped;
      if (isAlone && isBeyondKeys(question, master.said())) throw new AsksTooEarly();
      if (!mayAsk()) throw new HasToWait();
      const answered = await asks?.(`${hop.name}: ${printable(question).trim()} `);
      late.start();
      return answered ?? '';
    } catch (error) {
      stopped ??= error instanceof HasToWait || error instanceof AsksTooEarly ? error : interrupted();
      throw error;
    }
  };
  const tell = (notice: string) => {
    late.start(touchLimit);
    process.stderr.write(`${hop.name}: ${printable(notice).trim()}\n`);
  };
  const master = startMaster(folder, words, environment, asks && { answer, tell });
  const onAbort = () => {
    stopped ??= interrupted();
    master.end().catch(() => {});
  };
  signal?.addEventListener('abort', onAbort);
  try {
    const result = await Promise.race([master.ready, late.reached]);
    if (result === 'logged in' && !stopped) return master;
    if (result === 'late') stopped ??= lateHost(hop, master.said(), timeout);
    await master.end();
    throw (
      stopped ??
      explainEnd(hop, master.said(), { timeout, asks: canAsk, unreached: via?.refusal(master.said()) })
    );
  } finally {
    late.end();
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Whether a server asks that has accepted no key, while there are keys to try. */
function isBeyondKeys(question: string, said: readonly string[]): boolean {
  return !/(passphrase|PIN) for /.test(question) && !said.some((line) => / with partial success/.test(line));
}

/**
 * @returns whether the agent has keys that are tried before the one that the inventory names
 * @throws Unreachable for a pinned key that is no key, and a key file that cannot be used
 */
async function otherKeys(
  { name, hostKeys, identityFile, config }: Hop,
  limits: LoginLimits,
): Promise<boolean> {
  pinnedKeys(name, hostKeys);
  if (identityFile === undefined) return false;
  const { canAsk } = askingBy(limits);
  const held = config.agent === undefined ? undefined : await listAgentKeys(config.agent);
  // OpenSSH reads more formats than the library.
  const isUsable = ({ why, publicKey }: KeyFile) =>
    // Which key of the agent it is may not be known.
    why !== lockedKey || canAsk || (publicKey === undefined && held !== undefined && held.length > 0);
  const { publicKey } = readNamedKey(name, identityFile, held, isUsable);
  const isHeld = held?.some((key) => publicKey?.equals(key)) ?? false;
  return (
    config.agent !== undefined &&
    held !== undefined &&
    !config.identitiesOnly &&
    !isHeld &&
    (await agentKeyTypes(config.agent)).length > 0
  );
}

/** The operator's own program for questions comes first where SSH_ASKPASS_REQUIRE says so. */
function askingBy({ ask }: LoginLimits) {
  const { SSH_ASKPASS, SSH_ASKPASS_REQUIRE = '' } = process.env;
  const asks = SSH_ASKPASS && /^(prefer|force)$/.test(SSH_ASKPASS_REQUIRE) ? undefined : ask;
  // Without a terminal ssh asks by that program, too.
  return { asks, canAsk: asks !== undefined || SSH_ASKPASS !== undefined };
}

/** A time limit that does not count while the operator is asked. */
function lateTimer(seconds: number) {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let reach: (late: 'late') => void = () => {};
  const reached = new Promise<'late'>((resolve) => {
    reach = resolve;
  });
  const stop = () => clearTimeout(timer);
  const start = (more = 0) => {
    stop();
    // The operator may answer after the end of a login.
    if (!isOver) timer = setTimeout(() => reach('late'), (seconds + more) * 1000);
  };
  const end = () => {
    isOver = true;
    stop();
  };
  start();
  return { reached, start, stop, end };
}
