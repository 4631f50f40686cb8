import { PassThrough, type Readable } from 'node:stream';
import type { NodeSSH, SSHExecCommandResponse } from 'node-ssh';
import type { ClientChannel } from 'ssh2';
import type { Listener } from './link.ts';

/**
 * Reads a command line and runs it. `read` takes one byte at a time, so that what follows the line
 * is left for the command.
 */
const waitingShell = 'sh -c \'IFS= read -r c&&exec sh -c "$c"\'';

interface ChannelListener extends Omit<Listener, 'onOpen'> {
  onOpen(channel: ClientChannel): void;
}

/** Runs a command on a channel of its own. */
export function runOnChannel(
  ssh: NodeSSH,
  line: string,
  stdin: Readable | undefined,
  { onOpen, onStdout, onStderr }: ChannelListener,
): Promise<SSHExecCommandResponse> {
  // latin1 keeps every byte; the library decodes chunk by chunk, which breaks multi-byte
  // characters.
  const asBytes = { encoding: 'latin1', noTrim: true } as const;
  return ssh.execCommand(line, {
    ...asBytes,
    onChannel: onOpen,
    onStdout,
    onStderr,
    ...(stdin ? { stdin } : {}),
  });
}

/**
 * Opens a channel on which a shell waits: the next command then takes one round trip instead of
 * three, or two without standard input.
 */
export function openAhead(ssh: NodeSSH) {
  const stdin = new PassThrough();
  let channel: ClientChannel | undefined;
  let listener: Listener | undefined;
  const response = runOnChannel(ssh, waitingShell, stdin, {
    onOpen: (opened) => {
      channel = opened.on('close', () => {
        channel = undefined;
      });
    },
    onStdout: (chunk) => listener?.onStdout(chunk),
    onStderr: (chunk) => listener?.onStderr(chunk),
  });
  return {
    /** Rejected where the host refuses the channel, or the connection ends. */
    ended: response,
    /**
     * @returns undefined where the shell does not wait, because its channel is not open yet or has
     * ended
     */
    run(line: string, input: Buffer | undefined, of: Listener): Promise<SSHExecCommandResponse> | undefined {
      if (!channel) return undefined;
      listener = of;
      listener.onOpen(channel);
      stdin.end(Buffer.concat([Buffer.from(`${line}\n`), input ?? Buffer.alloc(0)]));
      return response;
    },
    close: () => channel?.close(),
  };
}
