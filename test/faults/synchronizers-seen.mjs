// Finds the running synchronizers of the lab's hosts by their processes, which are processes of
// this machine as well.
import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds between two samples. */
const pause = 50;
/** Number of samples after which a process does not change any more. */
const grown = 40;

/** @typedef {{ pid: string, container: string, foreign: boolean, since: number }} Synchronizer */

/**
 * Samples continuously, until it is stopped.
 *
 * @param {readonly string[]} hosts ids of the lab's containers: processes outside of them are not
 * the lab's
 * @returns `seen`: since `forget`, how many synchronizers of a deployment were started, and which
 * of them beside another
 */
export function synchronizersSeen(hosts) {
  /** @type {Map<string, Synchronizer>} by process */
  let running = new Map();
  /**
   * How often a process was seen as something else: a young one may become a synchronizer. @type
   * {Map<string, number>}
   */
  let others = new Map();
  /** @type {string[]} */
  let beside = [];
  /**
   * Containers of a deployment that have run: restarts by Docker itself count for no controller.
   * @type {Set<string>}
   */
  let containers = new Set();
  let before = 0;
  let samples = 0;

  const look = () => {
    samples += 1;
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const now = new Map(
      pids.flatMap((pid) => {
        const known = running.get(pid);
        if (known) return [[pid, known]];
        if ((others.get(pid) ?? 0) >= grown) return [];
        const found = synchronizerOf(pid, hosts);
        if (found === undefined) return [];
        if (found) return [[pid, found]];
        others.set(pid, (others.get(pid) ?? 0) + 1);
        return [];
      }),
    );
    others = new Map(pids.map((pid) => [pid, others.get(pid) ?? 0]));
    for (const one of now.values()) {
      if (running.has(one.pid) || one.foreign || containers.has(one.container)) continue;
      containers.add(one.container);
      // A process that ended at the same moment is still in the previous sample.
      const next = [...now.values()].filter((each) => each.pid !== one.pid && each.since <= one.since);
      if (next.length > 0) beside.push(`${describe(one)} beside ${next.map(describe).join(' and ')}`);
    }
    running = now;
  };
  const timer = setInterval(look, pause);
  look();
  return {
    forget() {
      look();
      beside = [];
      containers = new Set([...running.values()].map(({ container }) => container));
      before = containers.size;
    },
    seen() {
      look();
      return { beside, starts: containers.size - before };
    },
    samples: () => samples,
    stop: () => clearInterval(timer),
  };
}

/** @param {Synchronizer} one */
const describe = ({ pid, container, foreign }) =>
  foreign ? `foreign process ${pid}` : container.slice(0, 12);

/**
 * @param {string} pid @param {readonly string[]} hosts @returns {Synchronizer | undefined}
 * undefined for other and ended processes
 */
function synchronizerOf(pid, hosts) {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    const at = words.indexOf('run');
    const isNode = at > 0 && /zkevm-node$/.test(words[at - 1] ?? '') && words.includes('synchronizer');
    if (!isNode) return undefined;
    const cgroup = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    if (!hosts.some((id) => cgroup.includes(id))) return undefined;
    // The last one: the first is the lab host's own.
    const container = [...cgroup.matchAll(/[0-9a-f]{64}/g)].at(-1)?.[0] ?? pid;
    return { pid, container, foreign: words.includes('foreign'), since: Date.now() };
  } catch {
    return undefined;
  }
}
