import { constants } from 'node:os';
import pLimit from 'p-limit';
import pRetry from 'p-retry';
import { ConnectionLost, endedBeforeCommand, shellNeverStarted, Unreachable } from '../connection-errors.ts';
import type { RunLimits, Transport } from '../transport/transport.ts';
import { createWatchdog, type Watchdog } from '../transport/watchdog.ts';
import { type AnyWay, ChannelRefused, type CommandEnd, type Login, type Open } from './link.ts';

/**
 * sshd allows ten channels, frees those of ended commands late, and others may share the account.
 */
const maxChannels = 3;

/**
 * Seconds after which a command that has not started never will, on a host that has run commands
 * before. As long as a connection may be silent, and enough for a busy host.
 */
const laterStartLimit = 60;

/**
 * Runs commands over a logged-in connection.
 *
 * @param chain jump hosts in order, the host itself last
 * @param firstStartLimit seconds that the first command may take to start
 */
export function transportOver(
  name: string,
  chain: readonly Pick<Login<AnyWay>, 'open' | 'ended'>[],
  close: () => Promise<void>,
  firstStartLimit: number,
): Transport {
  const last = chain.at(-1);
  if (!last) throw new RangeError('an empty chain');
  const limit = pLimit(maxChannels);
  const { open } = last;
  let startLimit = firstStartLimit;
  let givenUp: string | undefined;
  let hasBegun = false;
  const lost = (cause?: unknown) => {
    if (givenUp !== undefined) return new ConnectionLost(name, givenUp, cause);
    const why = chain.map((one) => one.ended()).find((ended) => ended !== undefined) ?? 'the host closed it';
    return hasBegun ? new ConnectionLost(name, why, cause) : endedBeforeCommand(name, why, cause);
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
    const onStart = () => {
      hasBegun = true;
    };
    const running = pRetry(
      () => exec(name, open, line, input, { ...limits, startLimit, watchdog, onStart }),
      {
        retries: 5,
        minTimeout: 100,
        shouldRetry: ({ error }) => error instanceof ChannelRefused && limit.activeCount === 1,
      },
    );
    try {
      return await watchdog.guard(running);
    } catch (error) {
      if (error instanceof Unreachable || error instanceof ConnectionLost) throw error;
      if (!(error instanceof ChannelRefused)) throw lost(error);
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
      let result: CommandEnd | undefined;
      while (!result) result = await limit(() => tryRun(...command));
      const code = result.code ?? codeOfSignal(result.signal);
      // Without exit code and signal the end of the command is unknown.
      if (code === undefined) throw lost();
      startLimit = laterStartLimit;
      hasBegun = true;
      return { code, stdout: result.stdout, stderr: result.stderr };
    },
  };
}

interface ExecLimits extends RunLimits {
  readonly startLimit: number;
  readonly watchdog: Watchdog;
  /** Called at the marker of the start. */
  onStart(): void;
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
  limits: ExecLimits,
): Promise<CommandEnd> {
  const { startMarker, startLimit, watchdog, onStart, onOutput } = limits;
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let printed = '';
    const stderr: Buffer[] = [];
    let started = false;
    open(line, input, {
      onOpen(channel) {
        timer = setTimeout(() => {
          channel.close();
          reject(shellNeverStarted(name, startLimit, Buffer.from(printed, 'latin1'), Buffer.concat(stderr)));
        }, startLimit * 1000);
      },
      onStdout(chunk) {
        watchdog.count(chunk);
        onOutput?.(chunk);
        if (started) return;
        printed += chunk.toString('latin1');
        started = startMarker !== undefined && printed.includes(startMarker);
        if (!started) return;
        clearTimeout(timer);
        onStart();
      },
      onStderr(chunk) {
        watchdog.count(chunk);
        if (!started) stderr.push(chunk);
      },
    })
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** As in a shell: 128 and the signal's number. */
function codeOfSignal(signal: string | null): number | undefined {
  if (signal === null) return undefined;
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return 128 + (numbers[`SIG${signal.replace(/^SIG/, '')}`] ?? 127);
}
