import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { quote } from '../quote.ts';
import { commonSshConfig } from './common-ssh-config.ts';
import { type GivenLogin, parseSshConfig, type SshConfig } from './ssh-config.ts';

/**
 * The output of `ssh -G` for a host. Without an ssh client the defaults of ssh apply.
 *
 * @param address an address, or a name from ssh_config
 */
export async function resolveSshConfig(address: string, { user, port }: GivenLogin = {}): Promise<SshConfig> {
  const options = [...(user === undefined ? [] : ['-l', user]), ...(port === undefined ? [] : ['-p', String(port)])];
  const printed = (await commonSshConfig(timeLimit)) ?? (await runSsh(['-G', ...options, '--', address]));
  return parseSshConfig(printed, { host: address, user, port });
}

/** The descriptors beside the usual three to which every sh can redirect. */
const descriptors = [3, 4, 5, 6, 7, 8, 9];

/** Time limit of ssh, in milliseconds: its configuration may run programs of the operator (`Match exec`). */
const timeLimit = 10_000;

let requests: { readonly options: readonly string[]; readonly resolve: (printed: string) => void }[] = [];

/**
 * The output of ssh with these options. The requests of one tick share a shell and run in parallel: Node blocks for some
 * milliseconds at every start of a process, and a run makes a request for each host that may differ.
 *
 * @returns nothing where ssh is missing, fails or takes too long
 */
function runSsh(options: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    if (requests.length === 0) {
      setImmediate(() => {
        const all = requests;
        requests = [];
        for (let at = 0; at < all.length; at += descriptors.length) runAll(all.slice(at, at + descriptors.length));
      });
    }
    requests.push({ options, resolve });
  });
}

/** Each output ends with its own ssh: no other process has its descriptor open. */
function runAll(all: typeof requests): void {
  const closed = descriptors.map((descriptor) => `${descriptor}>&-`).join(' ');
  const commands = all.map(
    ({ options }, index) => `ssh ${quote(options)} >&${descriptors[index]} ${closed} &\n__p="$__p $!"`,
  );
  const script = `__p=\n${commands.join('\n')}\ntrap 'kill $__p' TERM\nexec ${closed}\nwait`;
  const stdio = ['ignore', 'ignore', 'ignore', ...all.map(() => 'pipe')] as ('ignore' | 'pipe')[];
  const shell = spawn('sh', ['-c', script], { stdio });
  const timer = setTimeout(() => shell.kill(), timeLimit);
  for (const event of ['error', 'exit']) shell.on(event, () => clearTimeout(timer));
  for (const [index, { resolve }] of all.entries()) {
    const pipe = shell.stdio[descriptors[index] ?? -1];
    // Without a shell there is no pipe.
    if (pipe) text(pipe as NodeJS.ReadableStream & AsyncIterable<unknown>).then(resolve, () => resolve(''));
    else resolve('');
  }
}
