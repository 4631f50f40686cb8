import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from '../../lib/engine/host/create-connection.ts';
import { hostOver, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { programTransport } from '../program-transport.ts';

/** The canary: a run of this program shows that text was interpreted as a command. */
export const canary = 'rpc-canary';

/** The shell that is /bin/sh on this host. */
export type ShellName = 'dash' | 'bash' | 'busybox';

/**
 * A host for untrusted scripts: this machine's own files under an overlay that is removed after
 * the test, with its own namespaces for mounts, processes and network. Programs that need more
 * than files (systemd, Docker, apt, curl, git) are stand-ins that print little and succeed;
 * shells, coreutils, awk and sed are the real ones.
 */
export interface NamespaceHost {
  readonly writer: TestHost;
  /** For each run of the canary the command that has run it. */
  canaryRuns(): string;
  stop(): void;
}

/**
 * Stand-ins. Every unit runs at once, in the shell under test, as systemd would run it by /bin/sh.
 */
const standIns: Readonly<Record<string, string>> = {
  [canary]: `printf 'ran by %s\\n' "$(tr '\\0' ' ' </proc/$PPID/cmdline)" >> /canary-ran`,
  systemctl: 'case "$1" in show) exit 0;; esac; exit 0',
  'systemd-run': 'for last; do :; done; exec /bin/sh "$last" >> /var/log/units 2>&1 < /dev/null',
  docker: `case "$*" in
*version*) exit 0;;
*DockerRootDir*) echo /var/lib/docker;;
*inspect*) exit 1;;
exec*) cat > /dev/null; exit 0;;
*) exit 0;;
esac`,
  // A server that tries to inject a command through its reply.
  curl: `case "$*" in
*--head*) printf 'HTTP/1.1 200 OK\\r\\nContent-Length: a[$(${canary})]\\r\\nETag: $(${canary})\\r\\n\\r\\n';;
*--write-out*) printf '$(${canary})\`${canary}\`;${canary}\\n200';;
*) printf 'HTTP/1.1 200 $(${canary})\\r\\nContent-Length: a[$(${canary})]\\r\\n\\r\\n$(${canary})\`${canary}\`;${canary}';;
esac`,
  git: 'case "$*" in *clone*) for last; do :; done; mkdir -p "$last/dist";; *rev-parse*) echo 0123456789abcdef;; esac; exit 0',
  pg_restore: `printf '%s\\n' '1; 1 1 TABLE state $(${canary}) x' "1; 1 1 TABLE state \\\\! ${canary} x"`,
  // Waits end soon: nothing changes here by itself.
  sleep: 'exec /usr/bin/sleep 0.02',
  chronyc: 'echo "x,$(echo \'$\')(rpc-canary),1,1,0.0,Normal"',
};

/** Programs that would change something, and do nothing here. */
const silent =
  'apt-get apt-cache make go psql pg_dump pg_isready journalctl timedatectl rsync mount umount mkfs.ext4 blkid wipefs lsblk ss getent mountpoint sync wget chown reboot'.split(
    ' ',
  );

export function startNamespaceHost(shell: ShellName): NamespaceHost {
  const folder = mkdtempSync(join(tmpdir(), 'namespace-host-'));
  const bin = join(folder, 'stand-ins');
  mkdirSync(bin);
  mkdirSync(join(folder, 'top'));
  for (const [name, script] of Object.entries(standIns)) put(join(bin, name), script);
  for (const name of silent) put(join(bin, name), 'exit 0');
  const shellPath = execFileSync('sh', ['-c', `command -v ${shell}`], { encoding: 'utf8' }).trim();
  // busybox selects its applet by this name.
  symlinkSync(shellPath, join(folder, 'sh'));
  const setUp = `set -e
mount -t tmpfs tmpfs ${folder}/top
mkdir ${folder}/top/upper ${folder}/top/work ${folder}/top/root
mount -t overlay overlay -o lowerdir=/,upperdir=${folder}/top/upper,workdir=${folder}/top/work ${folder}/top/root
cd ${folder}/top/root
mount -t proc proc proc
mkdir -p dev/shm run stand-ins var/log
cp -a ${bin}/. stand-ins/
cp -a ${folder}/sh usr/bin/sh.new && mv usr/bin/sh.new usr/bin/sh
[ -e dev/null ] || mknod -m 666 dev/null c 1 3
echo ready
exec sleep 100000`;
  const holder = spawn(
    'unshare',
    ['--mount', '--pid', '--net', '--fork', '--kill-child', 'sh', '-c', setUp],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  return { ...openHost(holder, folder), stop: () => stop(holder, folder) };
}

function openHost(holder: ChildProcess, folder: string): Omit<NamespaceHost, 'stop'> {
  const ready = new Promise<number>((resolve, reject) => {
    let said = '';
    holder.stderr?.on('data', (chunk) => {
      said += String(chunk);
    });
    holder.once('exit', () => reject(new Error(`the namespaces could not be made: ${said}`)));
    holder.stdout?.once('data', () => resolve(innerProcess(holder)));
  });
  const root = `${folder}/top/root`;
  const words = async () => ['-t', String(await ready), '-m', '-p', '-n', 'chroot', root];
  const transport = programTransport(async () => {
    const environment = ['env', '-i', 'PATH=/stand-ins:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root'];
    return { words: ['nsenter', ...(await words()), ...environment, '/bin/sh', '-c'] };
  });
  const writer = hostOver(createConnection('here', transport, { prefix: '', password: undefined }));
  return {
    // Waits end at once, as in an interrupted run: nothing changes here by itself.
    writer: { ...writer, sleep: async () => {} },
    canaryRuns() {
      const pid = String(innerProcess(holder));
      const read = 'cat /canary-ran 2>/dev/null || :';
      return execFileSync('nsenter', ['-t', pid, '-m', 'chroot', root, 'sh', '-c', read], {
        encoding: 'utf8',
      });
    },
  };
}

/** unshare stays outside of the process namespace; its child is inside. */
function innerProcess(holder: ChildProcess): number {
  return Number(
    execFileSync('cat', [`/proc/${holder.pid}/task/${holder.pid}/children`], { encoding: 'utf8' }).trim(),
  );
}

function stop(holder: ChildProcess, folder: string): void {
  holder.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

function put(path: string, script: string): void {
  writeFileSync(path, `#!/usr/bin/dash\n${script}\n`);
  chmodSync(path, 0o755);
}
