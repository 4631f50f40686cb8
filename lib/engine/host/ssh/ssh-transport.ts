import { constants } from 'node:os';
import { Readable } from 'node:stream';
import type { SSHExecCommandResponse } from 'node-ssh';
import pLimit from 'p-limit';
import pRetry from 'p-retry';
import { ConnectionLost, shellNeverStarted, Unreachable } from '../connection-errors.ts';
import type { RunLimits, Transport } from '../transport/transport.ts';
import { createWatchdog, type Watchdog } from '../transport/watchdog.ts';
import { type Listener, openAhead, runOnChannel } from './channel.ts';
import type { SshConnection } from './ssh-login.ts';

/**
 * sshd allows ten channels, frees those of ended commands late, and others may share the account.
 */
const maxChannels = 3;

/**
 * Seconds after which a command that has not started never will, on a host that has run commands
 * before. As long as a connection may be silent, and enough for a busy host.
 */
const laterStartLimit = 60;

/** Where a channel takes longer to open, the next ones are opened ahead. Milliseconds. */
const farAway = 20;

/** To open one takes two round trips, and a quick command one. */
const channelsAhead = 2;

/**
 * Runs commands over a logged-in connection.
 *
 * @param chain jump hosts in order, the host itself last
 * @param firstStartLimit seconds that the first command may take to start
 */
export function transportOver(
  name: string,
  chain: readonly SshConnection[],
  close: () => Promise<void>,
  firstStartLimit: number,
): Transport {
  const last = chain.at(-1);
  if (!last) throw new RangeError('an empty chain');
  const limit = pLimit(maxChannels);
  const open = channelsOf(last);
  let startLimit = firstStartLimit;
  let givenUp: string | undefined;
  const lost = (cause?: unknown) => {
    const why =
      givenUp ?? chain.map((one) => one.ended()).find((ended) => ended !== undefined) ?? 'the host closed it';
    return new ConnectionLost(name, why, cause);
  };

  /**
   * @returns undefined where the host allows fewer channels than are open already
   */
  const tryRun = async (...[line, input, limits = {}]: Parameters<Transport['run']>) => {
    const watchdog = createWatchdog(limits.seconds, (why) => {
      givenUp ??= why;
      close().catch(() => {});
      return lost();
    });
    const running = pRetry(() => exec(name, open, line, input, { ...limits, startLimit, watchdog }), {
      retries: 5,
      minTimeout: 100,
      shouldRetry: ({ error }) => isChannelRefused(error) && limit.activeCount === 1,
    });
    try {
      return await watchdog.guard(running);
    } catch (error) {
      if (error instanceof Unreachable || error instanceof ConnectionLost) throw error;
      if (!isChannelRefused(error)) throw lost(error);
      if (limit.activeCount === 1) {
        const hint = 'its sshd_config has to allow a session (MaxSessions)';
        throw new Unreachable(name, 'the host accepts the login, and refuses to run a command', hint, error);
      }
      // From now on one fewer than are open.
      limit.concurrency = limit.activeCount - 1;
      return undefined;
    }
  };

  return {
    close,
    async run(...command) {
      let result: SSHExecCommandResponse | undefined;
      while (!result) result = await limit(() => tryRun(...command));
      const code = result.code ?? codeOfSignal(result.signal);
      // Without exit code and signal the end of the command is unknown.
      if (code === undefined) throw lost();
      startLimit = laterStartLimit;
      return {
        code,
        stdout: Buffer.from(result.stdout, 'latin1'),
        stderr: Buffer.from(result.stderr, 'latin1'),
      };
    },
  };
}

type Open = (line: string, input: Buffer | undefined, listener: Listener) => Promise<SSHExecCommandResponse>;

/** Runs each command on a channel that was opened ahead, or else on a channel of its own. */
function channelsOf({ ssh }: SshConnection): Open {
  const ahead = new Set<ReturnType<typeof openAhead>>();
  let isRefused = false;
  const refuse = () => {
    isRefused = true;
    for (const one of ahead) one.close();
    ahead.clear();
  };
  const openNext = () => {
    while (!isRefused && ahead.size < channelsAhead) {
      const one = openAhead(ssh);
      ahead.add(one);
      one.ended.then(() => ahead.delete(one), refuse);
    }
  };
  return async (line, input, listener) => {
    for (const one of ahead) {
      const waiting = one.run(line, input, listener);
      if (!waiting) continue;
      ahead.delete(one);
      openNext();
      return waiting;
    }
    let isOpen = false;
    const onOpen: Listener['onOpen'] = (channel) => {
      isOpen = true;
      listener.onOpen(channel);
    };
    // What has arrived already is handled first: this process may be slow, and the host near.
    setTimeout(() => setImmediate(() => isOpen || openNext()), farAway).unref();
    try {
      return await runOnChannel(ssh, line, input && Readable.from([input]), { ...listener, onOpen });
    } catch (error) {
      // Those that wait may be too many.
      if (isChannelRefused(error)) refuse();
      throw error;
    }
  };
}

/**
 * Runs a command.
 *
 * @throws Unreachable where it does not start
 */
function exec(
  name: string,
  open: Open,
  line: string,
  input: Buffer | undefined,
  limits: RunLimits & { readonly startLimit: number; readonly watchdog: Watchdog },
): Promise<SSHExecCommandResponse> {
  const { startMarker, startLimit, watchdog, onOutput } = limits;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let printed = '';
    let started = false;
    open(line, input, {
      onOpen(channel) {
        timer = setTimeout(() => {
          channel.close();
          reject(shellNeverStarted(name, startLimit));
        }, startLimit * 1000);
      },
      onStdout(chunk) {
        watchdog.count(chunk);
        onOutput?.(chunk);
        if (startMarker === undefined || started) return;
        printed += chunk.toString('latin1');
        started = printed.includes(startMarker);
        if (started) clearTimeout(timer);
      },
      onStderr: watchdog.count,
    })
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/**
 * The host refused one more channel, which happens while ended ones are not freed yet. Nothing was
 * run.
 */
function isChannelRefused(error: unknown): boolean {
  return error instanceof Error && 'reason' in error && /Channel open failure/.test(error.message);
}

/** As in a shell: 128 and the signal's number. */
function codeOfSignal(signal: string | null): number | undefined {
  if (signal === null) return undefined;
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return 128 + (numbers[`SIG${signal.replace(/^SIG/, '')}`] ?? 127);
}
