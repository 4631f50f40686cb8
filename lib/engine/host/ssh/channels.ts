import { Readable } from 'node:stream';
import type { NodeSSH, SSHExecCommandResponse } from 'node-ssh';
import { openAhead, runOnChannel } from './channel.ts';
import { ChannelRefused, type CommandEnd, type Listener, type Open } from './link.ts';

/** Where a channel takes longer to open, the next ones are opened ahead. Milliseconds. */
const farAway = 20;

/** To open one takes two round trips, and a quick command one. */
const channelsAhead = 2;

/** Runs each command on a channel that was opened ahead, or else on a channel of its own. */
export function channelsOf(ssh: NodeSSH): Open {
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
      return endOf(waiting);
    }
    let isOpen = false;
    const onOpen: Listener['onOpen'] = (channel) => {
      isOpen = true;
      listener.onOpen(channel);
    };
    // What has arrived already is handled first: this process may be slow, and the host near.
    setTimeout(() => setImmediate(() => isOpen || openNext()), farAway).unref();
    try {
      return await endOf(runOnChannel(ssh, line, input && Readable.from([input]), { ...listener, onOpen }));
    } catch (error) {
      // Those that wait may be too many.
      if (error instanceof ChannelRefused) refuse();
      throw error;
    }
  };
}

async function endOf(running: Promise<SSHExecCommandResponse>): Promise<CommandEnd> {
  try {
    const { code, signal, stdout, stderr } = await running;
    return { code, signal, stdout: Buffer.from(stdout, 'latin1'), stderr: Buffer.from(stderr, 'latin1') };
  } catch (error) {
    const isRefusal =
      error instanceof Error && 'reason' in error && /Channel open failure/.test(error.message);
    throw isRefusal ? new ChannelRefused('the host refuses a channel', { cause: error }) : error;
  }
}
