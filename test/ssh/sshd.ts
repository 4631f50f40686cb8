import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { installMissing } from '../install-missing.ts';

/** A real sshd on loopback, with its own keys. */
export interface Sshd {
  readonly port: number;
  /** `ssh-ed25519 AAAA…` */
  readonly hostKey: string;
  /** A private key with which root, and every user of the machine, may log in. */
  readonly clientKey: string;
  /** Directory for known_hosts files of tests. */
  readonly directory: string;
  /** Its log so far; more with `LogLevel VERBOSE`. */
  log(): string;
  /**
   * The programs that it started so far with their arguments, as strace shows them, where it is
   * traced.
   */
  executed(): string;
  stop(): Promise<void>;
}

/** Installs packages that these tests need and the machine lacks. Needs root. */
export function installSshd(): void {
  installMissing([
    ['/usr/sbin/sshd', 'openssh-server'],
    ['/usr/bin/ssh-keygen', 'openssh-client'],
    ['/usr/bin/sudo', 'sudo'],
    ['/usr/bin/strace', 'strace'],
  ]);
}

/**
 * The program that starts sshd, and its first arguments: each `execve` below it is written to the
 * file `executed`, however short it runs. The kernel shows nothing else to strace, so a login is
 * as fast as without.
 */
const traced = (directory: string) => [
  '/usr/bin/strace',
  ...['-D', '-f', '-qq', '--seccomp-bpf', '-e', 'trace=execve', '-e', 'signal=none'],
  // Bytes of an argument that are shown; Linux allows 128 KiB.
  ...['-s', '131072', '-o', join(directory, 'executed')],
];

/**
 * @param extra lines of sshd_config that count before ours
 * @param options `isTraced`: whether `executed` has the arguments of all programs that it starts.
 * Needs strace. `inNamespace`: shell that is run before it, in a mount namespace of its own
 */
export async function startSshd(extra = '', { isTraced = false, inNamespace = '' } = {}): Promise<Sshd> {
  const directory = mkdtempSync(join(tmpdir(), 'sshd-'));
  // The privilege separation directory of sshd.
  mkdirSync('/run/sshd', { recursive: true });
  for (const name of ['host', 'client']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(directory, name)]);
  }
  const port = await freePort();
  const config = join(directory, 'config');
  writeFileSync(
    config,
    `${extra}
ListenAddress 127.0.0.1
Port ${port}
HostKey ${directory}/host
AuthorizedKeysFile ${directory}/client.pub
PidFile none
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
MaxStartups 100
`,
  );
  execFileSync('chmod', ['-R', 'go+rX', directory]);
  execFileSync('chmod', ['600', join(directory, 'host'), join(directory, 'client')]);
  const [program = '', ...words] = [
    ...(isTraced ? traced(directory) : []),
    ...(inNamespace ? ['unshare', '-m', 'sh', '-c', `${inNamespace} && exec "$@"`, 'sh'] : []),
    '/usr/sbin/sshd',
    '-D',
    '-e',
    '-f',
    config,
  ];
  const running = spawn(program, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    running.stderr.on('data', (chunk) => {
      said += String(chunk);
      if (said.includes('Server listening')) resolve();
    });
    running.on('exit', () => reject(new Error(`sshd ended: ${said}`)));
  });
  return {
    port,
    hostKey: readFileSync(join(directory, 'host.pub'), 'utf8').trim(),
    clientKey: join(directory, 'client'),
    directory,
    log: () => said,
    executed: () => (isTraced ? readFileSync(join(directory, 'executed'), 'latin1') : ''),
    async stop() {
      running.kill();
      while (running.exitCode === null && running.signalCode === null) await delay(10);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
