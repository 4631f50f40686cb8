import pLimit from 'p-limit';
import { printable } from '../../../text/printable.ts';
import { shellWord } from '../../../text/shell-word.mjs';
import { Unreachable } from '../../connection-errors.ts';
import { listAgentKeys } from '../agent-keys.ts';
import { pinnedKeys } from '../host-key.ts';
import { lockedKey } from '../key-file.ts';
import type { Hop, LogIn, LoginLimits, ProxyCommand } from '../link.ts';
import { readNamedKey } from '../ssh-keys.ts';
import { explainEnd, lateHost, wordsOf } from './explain-end.ts';
import { type Master, privateFolder, startMaster } from './master.ts';
import { optionsFor } from './options.ts';
import { anyHost, sessionsOf, throughMaster } from './sessions.ts';

/** In a ProxyCommand a shell reads the word, after ssh has put in what `%h` and `%p` stand for. */
const word = (text: string): string => (/%/.test(text) ? `'${text}'` : shellWord(text));

/** As ssh itself does for ProxyJump. */
function wayThrough(master: Master): ProxyCommand {
  const words = [...throughMaster(master.socket), '-W', '[%h]:%p'].map(word);
  return {
    command: ['ssh', ...words, ...anyHost].join(' '),
    refusal: () => /open failed: (.*)$/m.exec(master.said().join('\n'))?.[1],
  };
}

/**
 * For the touch of a security key, which counts for no time limit of ours; the key has one of its
 * own. Milliseconds.
 */
const touchLimit = 60_000;

/** Several hosts may ask at once, on one terminal. */
const oneQuestion = pLimit(1);

/** Logs in by OpenSSH, which reads the operator's ssh_config itself. */
export const logInByOpenSsh: LogIn<ProxyCommand> = async (hop, via, limits) => {
  const { name, config } = hop;
  if (config.settings.size === 0) {
    const hint = 'nothing was connected to. Install OpenSSH (openssh-client)';
    throw new Unreachable(name, 'there is no program ssh for ssh.client of the inventory', hint);
  }
  const master = await loggedIn(hop, via, limits);
  return {
    open: sessionsOf(master),
    ended: () => (master.isEnded() ? (wordsOf(master.said()).at(-1) ?? 'the host closed it') : undefined),
    forward: async () => wayThrough(master),
    close: () => master.end(),
  };
};

/**
 * @returns a master that is logged in
 * @throws NetworkError where the network is at fault, Unreachable for all else
 */
async function loggedIn(hop: Hop, via: ProxyCommand | undefined, limits: LoginLimits): Promise<Master> {
  const { signal, timeout } = limits;
  const interrupted = () => new Unreachable(hop.name, 'interrupted while connecting');
  if (signal?.aborted) throw interrupted();
  const late = lateTimer(timeout);
  const asks = asksBy(limits);
  let isInterrupted = false;
  const answer = async (question: string) => {
    late.stop();
    const answered = oneQuestion(() => asks?.(`${hop.name}: ${printable(question).trim()} `) ?? '');
    answered.then(late.start, () => {
      isInterrupted = true;
    });
    return answered;
  };
  let touch: NodeJS.Timeout | undefined;
  const tell = (notice: string) => {
    late.stop();
    touch = setTimeout(late.start, touchLimit);
    process.stderr.write(`${hop.name}: ${printable(notice).trim()}\n`);
  };
  const canAsk = asks !== undefined || process.env.SSH_ASKPASS !== undefined;
  await refuseInVain(hop, canAsk);
  const folder = privateFolder();
  const { words, environment } = optionsFor(hop, via?.command, folder, { timeout, asks: canAsk });
  const master = startMaster(folder, words, environment, asks && { answer, tell });
  const onAbort = () => {
    isInterrupted = true;
    master.end().catch(() => {});
  };
  signal?.addEventListener('abort', onAbort);
  try {
    const result = await Promise.race([master.ready, late.reached]);
    if (result === 'logged in' && !isInterrupted) return master;
    await master.end();
    if (isInterrupted) throw interrupted();
    if (result === 'late') throw lateHost(hop, timeout);
    throw explainEnd(hop, master.said(), { timeout, asks: canAsk, unreached: via?.refusal() });
  } finally {
    clearTimeout(touch);
    late.stop();
    signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * @param canAsk whether somebody can be asked for a passphrase
 * @throws Unreachable for a pinned key that is no key, and a key file that cannot be used
 */
async function refuseInVain({ name, hostKeys, identityFile, config }: Hop, canAsk: boolean): Promise<void> {
  pinnedKeys(name, hostKeys);
  if (identityFile === undefined) return;
  const held = config.agent === undefined ? undefined : await listAgentKeys(config.agent);
  // OpenSSH reads more formats than the library.
  readNamedKey(name, identityFile, held, ({ why }) => why !== lockedKey || canAsk);
}

/** The operator's own program for questions comes first where SSH_ASKPASS_REQUIRE says so. */
function asksBy({ ask }: LoginLimits): LoginLimits['ask'] {
  const { SSH_ASKPASS, SSH_ASKPASS_REQUIRE = '' } = process.env;
  return SSH_ASKPASS && /^(prefer|force)$/.test(SSH_ASKPASS_REQUIRE) ? undefined : ask;
}

/** A time limit that does not count while the operator is asked. */
function lateTimer(seconds: number) {
  let timer: NodeJS.Timeout | undefined;
  let reach: (late: 'late') => void = () => {};
  const reached = new Promise<'late'>((resolve) => {
    reach = resolve;
  });
  const stop = () => clearTimeout(timer);
  const start = () => {
    stop();
    timer = setTimeout(() => reach('late'), seconds * 1000);
  };
  start();
  return { reached, start, stop };
}
