import { constants } from 'node:os';
import { Readable } from 'node:stream';
import type { SSHExecCommandResponse } from 'node-ssh';
import pLimit from 'p-limit';
import pRetry from 'p-retry';
import { ConnectionLost, shellNeverStarted, Unreachable } from '../connection-errors.ts';
import type { Limits, Transport } from '../transport/transport.ts';
import { type Watch, watch } from '../transport/watchdog.ts';
import type { SshConnection } from './ssh-login.ts';

/** sshd allows ten channels, frees those of ended commands late, and others may share the account. */
const channels = 3;

/**
 * On a host that has run commands before, a shell that has not begun one by then is taken for one that never will. As long as a
 * connection may be silent, and enough for a host that is busy. Seconds.
 */
const beginSeconds = 60;

/**
 * Runs commands over a logged-in connection.
 *
 * @param chain jump hosts in order, the host itself last
 * @param firstAnswer how long the first command may take to begin. Seconds
 */
export function transportOver(
  name: string,
  chain: readonly SshConnection[],
  close: () => Promise<void>,
  firstAnswer: number,
): Transport {
  const last = chain.at(-1);
  if (!last) throw new RangeError('an empty chain');
  const inTurn = pLimit(channels);
  let patience = firstAnswer;
  let givenUp: string | undefined;
  const lost = (cause?: unknown) => {
    const why = givenUp ?? chain.map((one) => one.ended()).find((ended) => ended !== undefined) ?? 'the host closed it';
    return new ConnectionLost(name, why, cause);
  };

  /** @returns undefined where the host allows fewer channels than are open already */
  const tryRun = async (command: Command, limits: Limits): Promise<SSHExecCommandResponse | undefined> => {
    const watched = watch(limits.seconds, (why) => {
      givenUp ??= why;
      close().catch(() => {});
      return lost();
    });
    const running = pRetry(() => exec(name, last, command, { ...limits, patience, watched }), {
      retries: 5,
      minTimeout: 100,
      shouldRetry: ({ error }) => refusedChannel(error) && inTurn.activeCount === 1,
    });
    try {
      return await watched.over(running);
    } catch (error) {
      if (error instanceof Unreachable || error instanceof ConnectionLost) throw error;
      if (!(error instanceof Error && refusedChannel(error))) throw lost(error);
      if (inTurn.activeCount === 1) throw noSessions(name, error);
      // From now on one fewer than are open.
      inTurn.concurrency = inTurn.activeCount - 1;
      return undefined;
    }
  };

  return {
    close,
    async run(line, input, onStdout, limits = {}) {
      let result: SSHExecCommandResponse | undefined;
      while (!result) result = await inTurn(() => tryRun({ line, input, onStdout }, limits));
      const code = result.code ?? signalCode(result.signal);
      // No code and no signal: nobody knows how the command ended.
      if (code === undefined) throw lost();
      patience = beginSeconds;
      return { code, stdout: Buffer.from(result.stdout, 'latin1'), stderr: Buffer.from(result.stderr, 'latin1') };
    },
  };
}

interface Command {
  readonly line: string;
  readonly input: Buffer | undefined;
  readonly onStdout: (chunk: Buffer) => void;
}

/** Runs a command on a channel of its own. @throws Unreachable where it does not begin */
function exec(
  name: string,
  { ssh }: SshConnection,
  { line, input, onStdout }: Command,
  { mark, patience, watched }: Limits & { readonly patience: number; readonly watched: Watch },
): Promise<SSHExecCommandResponse> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    let head = '';
    const begins = (chunk: Buffer) => {
      if (mark === undefined || timer === undefined) return;
      head += chunk.toString('latin1');
      if (!head.includes(mark)) return;
      clearTimeout(timer);
      timer = undefined;
    };
    ssh
      .execCommand(line, {
        // latin1 keeps every byte as it is; the library decodes chunk by chunk, which breaks anything else.
        encoding: 'latin1',
        noTrim: true,
        onChannel(channel) {
          timer = setTimeout(() => {
            channel.close();
            reject(shellNeverStarted(name, patience));
          }, patience * 1000);
        },
        onStdout(chunk) {
          watched.count(chunk);
          begins(chunk);
          onStdout(chunk);
        },
        onStderr: watched.count,
        ...(input ? { stdin: Readable.from([input]) } : {}),
      })
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

/** The host said no to one more channel, which it does while ended ones are not freed yet. Nothing was run. */
function refusedChannel(error: Error): boolean {
  return 'reason' in error && /Channel open failure/.test(error.message);
}

function noSessions(name: string, cause: Error): Unreachable {
  return new Unreachable(
    name,
    'the host lets us in, and refuses to run a command',
    'its sshd_config has to allow a session (MaxSessions)',
    cause,
  );
}

/** As a shell has it: 128 and the signal's number. */
function signalCode(signal: string | null): number | undefined {
  if (signal === null) return undefined;
  const number = Object.entries(constants.signals).find(([name]) => name === `SIG${signal.replace(/^SIG/, '')}`)?.[1];
  return 128 + (number ?? 127);
}
