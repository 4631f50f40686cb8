import { command } from '../../engine/command-line/command.ts';
import type { Facts } from '../../engine/host/facts/facts.ts';
import { ownVariableLines, type SourcedVariable } from '../../engine/inventory/sourced-variables.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { bytes } from '../../engine/output/units.ts';
import { describePlace, exitCode } from '../../engine/problem/problem.ts';
import { redact } from '../../engine/secret/secret.ts';
import type { Reached } from '../each-host/each-host.ts';
import { eachHostOptions, hostLine, onHosts, unreachableLines, withHosts } from '../each-host/each-host.ts';

export const factsOptions = {
  ...eachHostOptions,
  json: {
    help: 'print one JSON document: an object by host, with all facts and its own variables, or with error',
  },
} as const;

export const run = command({
  command: 'npx zx playbooks/facts.mjs',
  purpose:
    'shows the facts of every host that roles decide by: system, processor, memory, disks; and its own variables, with their places. It is read-only.',
  options: factsOptions,
  examples: ['--inventory mainnet', `--inventory mainnet --json | jq '.["db-1"].memory'`],
  exits: { 0: 'all hosts answer', 3: 'bad input', 4: 'a host is unreachable', 130: 'interrupted' },
  around: onHosts,
  work: ({ given }, around) =>
    withHosts(given, around, async ({ hosts, sourcesOf }) => {
      const variablesOf = ({ name }: Reached) => sourcesOf(name, []).filter(({ isOwn }) => isOwn);
      if (given.json) around.say(factsJson(hosts, variablesOf));
      else
        for (const host of hosts)
          for (const line of factLines(hosts, host, variablesOf(host))) around.say(line);
      return exitCode.converged;
    }),
});

function factsJson(
  hosts: readonly Reached[],
  variablesOf: (host: Reached) => readonly SourcedVariable[],
): string {
  const all = hosts.map((host) => {
    if ('error' in host) return [host.name, { error: describeError(host.error) }];
    const variables = variablesOf(host).map(({ name, sources: [{ shown, of, where }] }) => ({
      name,
      shown,
      of,
      where: describePlace(where),
    }));
    return [host.name, { ...host.session.facts, variables }];
  });
  return redact(JSON.stringify(Object.fromEntries(all)));
}

function factLines(
  hosts: readonly Reached[],
  host: Reached,
  variables: readonly SourcedVariable[],
): string[] {
  if ('error' in host) return unreachableLines(hosts, host);
  const own = ownVariableLines(variables).map((line) => ['variable', line] as const);
  return [...rows(host.session.facts), ...own].map(([title, text]) =>
    hostLine(hosts, host.name, `${title.padEnd(10)}  ${text}`),
  );
}

function rows(facts: Facts): (readonly [string, string])[] {
  const {
    distribution,
    kernel,
    architecture,
    cpu,
    memory,
    mounts,
    blockDevices,
    container,
    systemd,
    clockOffset,
  } = facts;
  const disks = blockDevices.filter(({ type }) => type === 'disk');
  const seen = new Set<string>();
  const systems = mounts.filter(({ source, size }) => size > 0 && !seen.has(source) && seen.add(source));
  const free = systems.map(
    ({ target, size, available }) => `${target} ${bytes(available)} free of ${bytes(size)}`,
  );
  return [
    [
      'system',
      `${distribution.title}, kernel ${kernel}, ${architecture}${systemd ? '' : ', without systemd'}`,
    ],
    ...(container ? [['container', container] as const] : []),
    ['processor', `${cpu.count} × ${cpu.model || 'unknown model'}`],
    ['memory', bytes(memory)],
    ['disks', disks.map(({ path, size }) => `${path} ${bytes(size)}`).join(', ') || 'none seen'],
    ['mounts', free.join(', ')],
    [
      'clock',
      `${Math.abs(clockOffset).toFixed(1)} s ${clockOffset < 0 ? 'behind' : 'ahead of'} this machine`,
    ],
  ];
}
