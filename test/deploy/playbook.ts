import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The output of a playbook and its exit code. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, in the order of arrival. */
  readonly output: string;
}

/** A playbook in its own process without a terminal, as an operator runs it. */
export function startPlaybook(name: string, ...args: readonly string[]) {
  return startPlaybookIn({}, name, ...args);
}

/** The same with more in its environment. */
export function startPlaybookIn(
  environment: Readonly<Record<string, string>>,
  name: string,
  ...args: readonly string[]
) {
  const child = spawn(process.execPath, ['node_modules/zx/build/cli.js', `playbooks/${name}.mjs`, ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', ...environment },
  });
  let stdout = '';
  let stderr = '';
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    output += text;
  });
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, stdout, stderr, output }));
  });
  return { child, ended, output: () => output };
}

/** Runs a playbook to its end. */
export function runPlaybook(name: string, ...args: readonly string[]): Promise<Ended> {
  return startPlaybook(name, ...args).ended;
}

/** The same with additional environment variables. */
export function runPlaybookIn(
  environment: Readonly<Record<string, string>>,
  name: string,
  ...args: readonly string[]
): Promise<Ended> {
  return startPlaybookIn(environment, name, ...args).ended;
}

/** The rows of the summary table, by host. */
export function summaryOf(output: string): Record<string, Record<string, string>> {
  const lines = output.split('\n');
  const at = lines.findLastIndex((line) =>
    /^\s+ok\s+(changed|pending)\s+unknown\s+warnings\s+failed\s+time/.test(line),
  );
  if (at < 0) throw new Error(`no summary in:\n${output}`);
  const titles = ['ok', 'changed', 'unknown', 'warnings', 'failed'];
  const rows: Record<string, Record<string, string>> = {};
  for (const line of lines.slice(at + 1)) {
    const [host, ...cells] = line.trim().split(/\s+/);
    if (!host || cells.length < titles.length || !/^\d+$/.test(cells[0] ?? '')) break;
    rows[host] = Object.fromEntries(titles.map((title, i) => [title, cells[i] ?? '']));
  }
  return rows;
}

/** The resources that a run reports with an outcome, as `host role: resource`. */
export function named(output: string, outcome: string): string[] {
  return output.split('\n').flatMap((line) => {
    const match = new RegExp(`^(\\S+)\\s+${outcome}\\s+(\\S+: .*?)(?:  .*)?$`).exec(line);
    return match ? [`${match[1]} ${match[2]}`] : [];
  });
}
