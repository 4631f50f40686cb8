import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createConnection } from '../../lib/engine/host/create-connection.ts';
import { hostOver, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { cgroupFor, removeEmptyCgroups } from '../bench/cgroup.ts';
import { programTransport } from '../program-transport.ts';

/** A host with the real systemd, without Docker: its files are this machine's, under an overlay. */
export interface SystemdHost {
  readonly host: TestHost;
  end(): Promise<void>;
}

/**
 * Boots it. What it changes is gone with it. It has no network but its own loopback.
 *
 * @throws Error if the user is not root, or systemd does not start within a minute
 */
export async function startSystemdHost(): Promise<SystemdHost> {
  const folder = mkdtempSync(join(tmpdir(), 'systemd-host-'));
  const group = cgroupFor(`systemd-host-${process.pid}`);
  const boot = fileURLToPath(new URL('boot-systemd.sh', import.meta.url));
  const own = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child'];
  const enter = ['-c', 'echo $$ >"$0/cgroup.procs"; exec "$@"', group.path];
  const words = [...enter, 'setpriv', '--pdeathsig', 'KILL', 'unshare', ...own, 'sh', boot, folder];
  const child = spawn('sh', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += String(chunk);
    });
  const end = async () => {
    child.kill('SIGKILL');
    await closed;
    // systemd has made groups within it.
    while (existsSync(group.path)) {
      removeEmptyCgroups(group.path);
      await delay(50);
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const init = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim();
  const inside = (command: string) => {
    const namespaces = ['-t', init(), '-m', '-p', '-n', '-u', '-i', '-C', '-r', '-w'];
    return ['nsenter', ...namespaces, 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'sh', '-c', command];
  };
  const isUp = () => {
    const [program = '', ...rest] = inside('systemctl is-active --quiet basic.target');
    try {
      execFileSync(program, rest, { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  };
  const until = Date.now() + 60_000;
  while (!isUp()) {
    if (child.exitCode !== null || Date.now() > until) {
      await end();
      throw new Error(`systemd did not start: ${said}`);
    }
    await delay(200);
  }
  const transport = programTransport(() => ({ words: inside('').slice(0, -1) }));
  return { host: hostOver(createConnection('here', transport, { prefix: '', password: undefined })), end };
}
