import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { installMissing } from '../install-missing.ts';

/**
 * A server without Docker: its own mounts, processes, network and name, a root in memory that
 * starts as a copy of this machine's, and a real sshd on port 22. A virtual cable connects it to
 * this machine, and can be disconnected.
 */
export interface LightHost {
  readonly name: string;
  readonly address: string;
  /** `ssh-ed25519 AAAA…` */
  readonly hostKey: string;
  /** A private key that every user there may log in with. */
  readonly clientKey: string;
  /**
   * Runs a shell command there as root, without SSH.
   *
   * @returns its output
   * @throws if it fails
   */
  run(command: string): string;
  /** Process numbers of this machine for all its processes with a matching command line. */
  processes(pattern: RegExp): number[];
  /** Waits until such a process runs there. */
  untilRuns(pattern: RegExp): Promise<void>;
  /** Kills the processes of logged-in connections. */
  killSessions(): void;
  /** Resets its SSH connections, like a firewall that has lost its state. */
  reset(): void;
  /** Ends the listening sshd only; another one is started after a second. */
  restartSshd(): void;
  /** Limits its receive rate: `80mbit`. */
  slow(rate: string | undefined): void;
  /** Disconnects or connects the cable: packets on the way are dropped, without any error. */
  cable(state: 'up' | 'down'): void;
  /** Kills all its processes at once; its remaining network closes their connections. */
  die(): void;
  /** Ends it, and removes everything of it. */
  stop(): Promise<void>;
}

export interface LightHostOptions {
  /** The content of its root: this machine's own files, or busybox and sshd alone. */
  readonly userland?: 'debian' | 'busybox';
  /** Maximum size of its root. Default 64m */
  readonly size?: string;
  /** Shell commands that run there before sshd starts. */
  readonly setUp?: string;
  /** Additional lines for its sshd_config. */
  readonly sshd?: string;
}

/** Installs packages that light hosts need and the machine lacks. Needs root. */
export function installForLightHosts(): void {
  installMissing([
    ['/usr/sbin/sshd', 'openssh-server'],
    ['/usr/bin/ssh-keygen', 'openssh-client'],
    ['/usr/bin/sudo', 'sudo'],
    ['/usr/bin/fish', 'fish'],
    ['/bin/tcsh', 'tcsh'],
    ['/bin/bsd-csh', 'csh'],
    ['/usr/bin/localedef', 'libc-bin'],
    ['/usr/share/i18n/charmaps', 'locales'],
    ['/sbin/ip', 'iproute2'],
    ['/bin/busybox', 'busybox-static'],
  ]);
}

/**
 * Its start, in its namespaces. $1 size of root, $2 address, $3 name, $4 directory of given files,
 * $5 userland.
 */
const start = `set -eu
read -r pid rest </proc/self/stat
mount --make-rprivate /
mount -t tmpfs -o "size=$1,mode=755" light /mnt
cd /mnt
mkdir upper work root
if [ "$5" = busybox ]; then
  mkdir -p root/bin root/etc/ssh root/root root/dev root/proc root/var/tmp root/usr/lib
  ln -s bin root/sbin
  cp /bin/busybox root/bin/
  chroot root /bin/busybox --install -s /bin
  for each in /usr/sbin/sshd /usr/lib/openssh/sshd-session /usr/lib/openssh/sshd-auth; do
    [ ! -e "$each" ] || for file in "$each" $(ldd "$each" | grep -o '/[^ ]*'); do
      [ -e "root$file" ] || { mkdir -p "root\${file%/*}" && cp -L "$file" "root$file"; }
    done
  done
  printf 'root:x:0:0:root:/root:/bin/sh\\nsshd:x:100:65534::/run/sshd:/bin/false\\n' >root/etc/passwd
  printf 'root:x:0:\\n' >root/etc/group
  printf 'NAME=BusyBox\\nID=busybox\\nVERSION_ID=1\\n' >root/etc/os-release
else
  # White-outs: what lies in these is this machine's affair.
  mkdir upper/var && mknod upper/tmp c 0 0 && mknod upper/var/tmp c 0 0 && mknod upper/root c 0 0
  mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work,volatile light root
fi
cp "$4"/host root/etc/ssh/light_host
cp "$4"/client.pub root/etc/ssh/light_keys
cp "$4"/config root/etc/ssh/light_config
chmod 600 root/etc/ssh/light_host
echo one >root/etc/list
chmod 644 root/etc/ssh/light_keys
mkdir -p root/run root/tmp root/var/tmp root/root root/sys
mount -t proc proc root/proc
mount --rbind /dev root/dev
mount -t sysfs -o ro sys root/sys
for each in run dev/shm; do mount -t tmpfs -o size=16m light "root/$each"; done
chmod 1777 root/dev/shm root/tmp root/var/tmp
mkdir root/run/sshd
hostname "$3"
ip link set lo up
ip addr add "$2/30" dev eth0
ip link set eth0 up
[ ! -s "$4/set-up" ] || chroot root sh -eu <"$4/set-up"
echo "started $pid"
exec chroot root sh -c 'while :; do $(command -v /usr/sbin/sshd) -D -e -f /etc/ssh/light_config; sleep 1; done'
`;

/**
 * @param name also its host name
 */
export async function startLightHost(name: string, options: LightHostOptions = {}): Promise<LightHost> {
  const directory = mkdtempSync(join(tmpdir(), 'light-host-'));
  for (const key of ['host', 'client']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(directory, key)]);
  }
  writeFileSync(join(directory, 'set-up'), options.setUp ?? '');
  writeFileSync(join(directory, 'config'), sshdConfig(options.sshd));
  const { wire, address } = layCable();

  const words = [options.size ?? '64m', address, name, directory, options.userland ?? 'debian'];
  const namespaces = ['--mount', '--pid', '--uts', '--ipc', '--fork', '--kill-child'];
  // If the tests are killed, their processes end with them.
  const child = spawn(
    'setpriv',
    [
      '--pdeathsig',
      'KILL',
      'nsenter',
      `--net=/run/netns/${wire}`,
      'unshare',
      ...namespaces,
      'sh',
      '-c',
      start,
      'sh',
      ...words,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const pid = await startedAs(name, child);

  const inside = (command: string) =>
    execFileSync(
      'nsenter',
      ['-t', String(pid), '-m', '-p', '-n', '-u', '-i', '-r', '-w', 'sh', '-c', command],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
  const processes = (pattern: RegExp) => processesOf(pid).filter((each) => pattern.test(commandLine(each)));
  return {
    name,
    address,
    hostKey: readFileSync(join(directory, 'host.pub'), 'utf8').trim(),
    clientKey: join(directory, 'client'),
    run: inside,
    processes,
    async untilRuns(pattern) {
      for (let tries = 0; tries < 600; tries += 1) {
        if (processes(pattern).length > 0) return;
        await delay(100);
      }
      throw new Error(`${name}: nothing like ${pattern} ran within 60 s`);
    },
    killSessions() {
      for (const each of processes(/^sshd(-session)?: .*@/)) kill(each);
    },
    reset: () => void inside('ss -K state established sport = :22'),
    restartSshd() {
      for (const each of processes(/^sshd: .*\[listener\]/)) kill(each);
    },
    slow(rate) {
      const words = ['dev', wire, 'root'];
      if (rate === undefined) execFileSync('tc', ['qdisc', 'del', ...words]);
      else
        execFileSync('tc', [
          'qdisc',
          'add',
          ...words,
          'tbf',
          'rate',
          rate,
          'burst',
          '64kb',
          'latency',
          '200ms',
        ]);
    },
    cable: (state) => void execFileSync('ip', ['-n', wire, 'link', 'set', 'eth0', state]),
    die: () => void child.kill('SIGKILL'),
    async stop() {
      const ended = new Promise((resolve) => child.once('close', resolve));
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL');
        await ended;
      }
      execFileSync('ip', ['link', 'del', wire]);
      execFileSync('ip', ['netns', 'del', wire]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/**
 * @returns the first process of the host
 */
async function startedAs(name: string, child: ChildProcess): Promise<number> {
  let said = '';
  const pid = await new Promise<number>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => {
      said += String(chunk);
      const [, started] = /^started (\d+)$/m.exec(said) ?? [];
      if (started) resolve(Number(started));
    });
    child.stderr?.on('data', (chunk) => {
      said += String(chunk);
      if (said.includes('Server listening')) child.emit('listening');
    });
    child.once('exit', () => reject(new Error(`${name} did not start: ${said}`)));
  });
  if (!said.includes('Server listening')) await new Promise((resolve) => child.once('listening', resolve));
  return pid;
}

function sshdConfig(more = ''): string {
  // The first of several values counts.
  return `${more}
HostKey /etc/ssh/light_host
AuthorizedKeysFile /etc/ssh/light_keys
PidFile none
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
`;
}

/**
 * A network namespace and a veth pair to it. The addresses are of the block for network tests (RFC
 * 2544).
 */
function layCable(): { readonly wire: string; readonly address: string } {
  for (let tries = 0; tries < 20; tries += 1) {
    const number = Math.floor(Math.random() * 2 ** 15);
    const wire = `light${number}`;
    const ours = 4 * number + 1;
    try {
      execFileSync('ip', ['netns', 'add', wire], { stdio: 'ignore' });
    } catch {
      // Another run has this number.
      continue;
    }
    const lines = [
      `link add ${wire} type veth peer name eth0 netns ${wire}`,
      `addr add ${blockAddress(ours)}/30 dev ${wire}`,
      `link set ${wire} up`,
    ];
    execFileSync('ip', ['-batch', '-'], { input: lines.join('\n') });
    return { wire, address: blockAddress(ours + 1) };
  }
  throw new Error('no network number is free');
}

function blockAddress(number: number): string {
  return `198.${18 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

/** All processes in the process namespace of this one. */
function processesOf(pid: number): number[] {
  const namespace = namespaceOf(pid);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => namespace !== undefined && namespaceOf(each) === namespace);
}

function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
