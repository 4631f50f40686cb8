import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HostSummary } from '../../lib/engine/run/events.ts';
import { recordFolder } from '../../lib/node/project/project-folder.ts';
import type { LightHost } from './light-host.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A light host in an inventory: its host keys have priority over those that reach it. */
export interface Member {
  readonly host: LightHost;
  readonly inventory?: Readonly<Record<string, unknown>>;
}

/** An event of `--json`, with the fields that these tests read. */
interface Event {
  readonly type: string;
  readonly host?: string;
  readonly error?: string;
  readonly outcome?: string;
  readonly resource?: string;
  readonly note?: string;
  readonly hosts?: readonly HostSummary[];
}

/** The outcome of a run of the light playbook. */
export interface LightRun {
  readonly exitCode: number | null;
  readonly seconds: number;
  /** The controller's peak memory, in megabytes. */
  readonly peak: number;
  readonly stderr: string;
  readonly events: readonly Event[];
  /** The result of each host. */
  readonly summary: Readonly<Record<string, HostSummary>>;
  /** All error messages of a host. */
  errorsOf(host: string): string;
}

/** Maximum time that a fault may delay a run. Seconds. */
const longest = 120;

/** Runs the light playbook in its own process, as an operator does. */
export const runLight = (members: readonly Member[], ...args: readonly string[]): Promise<LightRun> =>
  runLightIn({}, members, ...args);

/**
 * @param environment in addition to this process's own
 */
export async function runLightIn(
  environment: Readonly<Record<string, string>>,
  members: readonly Member[],
  ...args: readonly string[]
): Promise<LightRun> {
  const directory = mkdtempSync(join(tmpdir(), 'light-run-'));
  const inventory = join(directory, `light-${basename(directory)}.yaml`);
  writeFileSync(inventory, inventoryOf(members));
  const began = performance.now();
  const child = spawn(
    process.execPath,
    ['node_modules/zx/build/cli.js', 'test/faults/light.mjs', '--inventory', inventory, '--json', ...args],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A run that hangs is a failure with its own message.
      timeout: longest * 1000,
      env: {
        ...process.env,
        NO_COLOR: '1',
        LIGHT_PEAK_FILE: join(directory, 'peak'),
        LIGHT_SUDO: 'right-password',
        ...environment,
      },
    },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const seconds = (performance.now() - began) / 1000;
  const peak = existsSync(join(directory, 'peak'))
    ? Number(readFileSync(join(directory, 'peak'), 'utf8')) / 1024
    : NaN;
  forget(basename(inventory, '.yaml'));
  rmSync(directory, { recursive: true });

  const events = stdout
    .split('\n')
    .filter(Boolean)
    .map((text) => JSON.parse(text) as Event);
  const summaries = events.find(({ type }) => type === 'run-finished')?.hosts ?? [];
  return {
    exitCode,
    seconds,
    peak,
    stderr,
    events,
    summary: Object.fromEntries(summaries.map((summary) => [summary.host, summary])),
    errorsOf: (host) =>
      events
        .filter((event) => event.host === host)
        .flatMap(({ error }) => error ?? [])
        .join('\n'),
  };
}

/** An inventory with light hosts, as its file has it. */
export function inventoryOf(members: readonly Member[]): string {
  const hosts = members.map(({ host, inventory }) => [
    host.name,
    {
      address: host.address,
      user: 'root',
      host_key: host.hostKey,
      identity_file: host.clientKey,
      ...inventory,
    },
  ]);
  // JSON is YAML.
  return JSON.stringify({ groups: { light: Object.fromEntries(hosts) } });
}

/** The records of these runs are useless to an operator. */
function forget(inventory: string): void {
  const records = existsSync(recordFolder) ? readdirSync(recordFolder) : [];
  for (const name of records) if (name.includes(`-${inventory}.`)) rmSync(join(recordFolder, name));
}
