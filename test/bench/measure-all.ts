import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bareScript, floorScript } from './floor.ts';
import { addressOf, delayedAddressOf, type Host, type Hosts, startHosts } from './hosts.ts';
import { measureLight } from './light.ts';
import { type Command, type Cost, measure } from './measure.ts';
import type { Options } from './options.ts';
import { machine, median } from './page.ts';
import { baseRoot, versions } from './prepare.ts';
import { type Measured, saveResult } from './results.ts';
import { type Case, type ToolName, tools } from './tools.ts';
import { changedFile, workload } from './workload.ts';

/** The input of one round of one case. */
interface Setting {
  readonly hosts: Hosts;
  readonly targets: readonly Host[];
  readonly what: Case;
}

const say = (line: string) => console.error(line);

/**
 * Boots hosts, measures all requested cases, and saves each result at once.
 *
 * @param missing tools that are not available, and why
 */
export async function measureAll({
  options,
  missing,
}: {
  readonly options: Options;
  readonly missing: Readonly<Record<string, string>>;
}): Promise<void> {
  // Kept in memory, and removed with this process.
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', '/mnt']);
  const directory = mkdtempSync('/mnt/bench-');
  if (options.light !== undefined) {
    const one = await startHosts(1, baseRoot, directory, []);
    return measureLight(one, options.light, directory);
  }
  const most = Math.max(...options.hosts);
  const delays = options.delays.filter((delay) => delay > 0);
  say(`booting ${most} ${most === 1 ? 'host' : 'hosts'}`);
  const hosts = await startHosts(most, baseRoot, directory, delays);
  for (const delay of delays) await startProxy(delay, most);
  const known = versions();

  for (const count of options.hosts) {
    for (const delay of options.delays) {
      for (const what of options.cases) {
        const setting = { hosts, targets: hosts.all.slice(0, count), what };
        const commands = commandsFor(options, setting, delay, missing, directory);
        const { measured, failed } = await measureCase(setting, commands.ready, options.pairs);
        saveResult({
          hosts: count,
          delay,
          case: what,
          date: new Date().toISOString().slice(0, 10),
          machine: `${machine}, hosts and controller on it`,
          versions: known,
          tools: measured,
          missing: { ...commands.missing, ...failed },
        });
      }
    }
  }
}

function commandsFor(
  options: Options,
  { hosts, targets, what }: Setting,
  delay: number,
  missing: Readonly<Record<string, string>>,
  directory: string,
) {
  const ready = new Map<ToolName, Command>();
  const cannot: Partial<Record<ToolName, string>> = {};
  for (const name of options.tools) {
    const tool: (typeof tools)[ToolName] & { readonly peer?: string } = tools[name];
    const why = tool.peer === undefined ? undefined : missing[tool.peer];
    if (why !== undefined) cannot[name] = why;
    else if ((tool.cases as readonly Case[]).includes(what)) {
      const own = join(directory, name);
      mkdirSync(own, { recursive: true });
      const reached = targets.map(({ name: host }, index) => ({
        name: host,
        address: delay === 0 ? addressOf(index) : delayedAddressOf(index, delay),
      }));
      const { identityFile, knownHostsFile } = hosts;
      ready.set(name, tool.command({ hosts: reached, identityFile, knownHostsFile, directory: own }, what));
    }
  }
  return { ready, missing: cannot };
}

/**
 * The first run of each tool shows that it does the work, and its memory; then every round runs
 * all tools in turn.
 */
async function measureCase(setting: Setting, commands: ReadonlyMap<ToolName, Command>, pairs: number) {
  const { targets, what } = setting;
  const costs = new Map<ToolName, { memory: number; runs: Cost[] }>();
  const failed: Partial<Record<ToolName, string>> = {};
  for (const [name, command] of commands) {
    try {
      await begin(setting);
      const cost = await measure(command, true);
      await verify(setting, name, cost);
      costs.set(name, { memory: cost.memory ?? 0, runs: [] });
      say(`${targets.length} ${what} ${name}: ${cost.wall.toFixed(2)} s (not counted)`);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      say(`${name}: ${message}`);
      failed[name] = 'it failed';
    }
  }
  for (let round = 0; round < pairs; round += 1) {
    const names = [...costs.keys()];
    // The order rotates, so that no tool always follows the same one.
    for (const name of [...names.slice(round % names.length), ...names.slice(0, round % names.length)]) {
      const command = commands.get(name);
      if (!command) continue;
      await begin(setting);
      costs.get(name)?.runs.push(await measure(command, false));
    }
  }
  const measured: Partial<Record<ToolName, Measured>> = {};
  for (const [name, { memory, runs }] of costs) {
    const wall = runs.map((run) => run.wall);
    measured[name] = { wall, cpu: runs.map((run) => run.cpu), memory };
    say(`${targets.length} ${what} ${name}: ${median(wall).toFixed(2)} s`);
  }
  return { measured, failed };
}

/** Brings the hosts to the state in which a run of this case starts. */
async function begin({ hosts, targets, what }: Setting): Promise<void> {
  if (what === 'first') await hosts.runOn(targets, bareScript(workload));
  else await hosts.runOn(targets, floorScript(workload, 'apply'));
  if (what === 'check' || what === 'change') await hosts.runOn(targets, `echo another >${changedFile}`);
}

/**
 * @throws Error if a tool has not done its work
 */
async function verify({ hosts, targets, what }: Setting, name: ToolName, { output }: Cost): Promise<void> {
  const found = await hosts.runOn(targets, floorScript(workload, 'check'));
  const differing = found.filter((text) => text !== '').length;
  const wanted = what === 'check' ? targets.length : 0;
  if (differing !== wanted)
    throw new Error(`${name}: ${differing} hosts differ after it:\n${found.join('')}\n${output}`);
  if (what === 'check' && !/- ?another$/m.test(output)) throw new Error(`${name} shows no diff:\n${output}`);
}

async function startProxy(delay: number, count: number): Promise<void> {
  const pairs = Array.from({ length: count }, (_, index) => [
    delayedAddressOf(index, delay),
    addressOf(index),
  ]).flat();
  const script = fileURLToPath(new URL('delay-proxy.mjs', import.meta.url));
  const running = spawn(process.execPath, [script, String(delay), ...pairs], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    running.stdout.once('data', () => resolve());
    running.on('exit', () => reject(new Error('the delaying proxy ended')));
  });
}
