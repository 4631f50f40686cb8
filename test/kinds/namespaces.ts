import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A private network with namespaces that act as hosts. It neither sees nor changes this machine's
 * own network.
 */
export interface Namespaces {
  /**
   * Runs a shell script as root.
   *
   * @param name of a namespace in it; by default the one in the middle
   */
  run(script: string, name?: string): Promise<string>;
  /** Arguments of nsenter for the namespace in the middle. */
  readonly words: readonly string[];
  remove(): void;
}

/**
 * @throws Error if the user is not root, or without unshare, nsenter or ip
 */
export async function namespaces(): Promise<Namespaces> {
  const first = spawn(
    'unshare',
    ['--net', '--mount', '--pid', '--fork', '--kill-child', 'sleep', 'infinity'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const inner = await childOf(first.pid ?? 0);
  const words = ['--target', inner, '--net', '--mount', '--pid'];
  const run = (script: string, name?: string) =>
    sh('nsenter', [
      ...words,
      ...(name === undefined ? [] : ['ip', 'netns', 'exec', name]),
      ...['sh', '-euc', script],
    ]);
  await run('mount -t tmpfs tmpfs /run && mount -t proc proc /proc && ip link set lo up');
  // unshare itself ignores gentler signals.
  return { run, words, remove: () => void first.kill('SIGKILL') };
}

async function childOf(pid: number): Promise<string> {
  for (let tries = 0; tries < 50; tries += 1) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    if (children.trim() !== '') return children.trim();
    await sleep(100);
  }
  throw new Error('unshare made no namespaces: it needs root');
}

function sh(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${error.message}\n${stdout}\n${stderr}`));
      else resolve(stdout);
    });
  });
}
