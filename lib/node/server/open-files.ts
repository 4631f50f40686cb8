import type { Reader } from '../../engine/host/host.ts';
import { drift, expectation, ok, type Resource, type Verdict } from '../../engine/resource/resource.ts';

/**
 * Its number among the capabilities of Linux. With it a process may raise any limit, up to
 * fs.nr_open.
 */
const sysResource = 24n;

/**
 * The engine may give its containers so many open files. If it may not, it does not start them:
 * "error setting rlimit type 7: operation not permitted". That is so above the kernel's
 * fs.nr_open, and above the engine's own limit where the host is a container that may not raise
 * limits.
 *
 * @param wanted the largest limit in the Compose file
 */
export function containersMayOpen(wanted: number): Resource {
  return expectation(`containers may have ${wanted} open files`, {
    check: (host) => judge(host, wanted),
    hint: 'raise the limit on the host (docs/recover.md, "Too few open files"), or lower ulimits in the Compose templates',
  });
}

async function judge(host: Reader, wanted: number): Promise<Verdict> {
  // The engine starts containers by containerd. Before both are installed, what init may do is
  // what they may do later.
  const [kernel, engine] = await Promise.all([
    host.$`cat /proc/sys/fs/nr_open`,
    host.$`
      pid=$(systemctl show --property MainPID --value containerd.service docker.service 2>/dev/null | grep -m 1 '[1-9]') || pid=1
      cat /proc/$pid/limits /proc/$pid/status /proc/$pid/uid_map`,
  ]);
  const most = Number(kernel.text());
  if (most > 0 && most < wanted) return drift(`the kernel allows ${most} (fs.nr_open)`);
  const [, own = ''] = /^Max open files +\S+ +(\d+)/m.exec(engine.stdout) ?? [];
  if (own === '' || Number(own) >= wanted || mayRaiseLimits(engine.stdout)) return ok;
  return drift(`the engine may have ${own} itself, and may not raise limits, as in a container`);
}

/**
 * @param text limits, status and uid_map of a process; in a user namespace of its own a capability
 * raises no limit
 */
function mayRaiseLimits(text: string): boolean {
  const [, capabilities = '0'] = /^CapEff:\s*([0-9a-f]+)$/m.exec(text) ?? [];
  const isInitial = /^\s*0\s+0\s+4294967295\s*$/m.test(text);
  return isInitial && ((BigInt(`0x${capabilities}`) >> sysResource) & 1n) === 1n;
}
