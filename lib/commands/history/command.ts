import { command } from '../../engine/command-line/command.ts';
import { shared, wholeNumber } from '../../engine/command-line/command-line.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { exitCode } from '../../engine/problem/problem.ts';
import { refuseOthersRecords } from '../../engine/report/record.ts';
import { redact } from '../../engine/secret/secret.ts';
import { printable } from '../../engine/text/printable.ts';
import { recordFolder } from '../../node/project/project-folder.ts';
import { versionOf } from '../../node/variables/generation.ts';
import type { Around, ReachedHosts } from '../each-host/each-host.ts';
import { eachHostOptions, onHosts, sessionsOf, unreachableLines, withHosts } from '../each-host/each-host.ts';
import { checksIn, type PastCheck } from './checks.ts';
import { type HostHistory, mergeRuns, type PastRun, readHistory } from './history.ts';

/** The records of check mode are those of a project folder. */
interface HistoryAround extends Around {
  readonly folder: string;
}

export const historyOptions = {
  ...eachHostOptions,
  last: { value: 'NUMBER', help: 'show so many runs, and as many checks (default: 20)' },
  json: { help: 'print one JSON document: runs, checks, releases, hosts that could not be read' },
  verbose: { ...shared.verbose, help: 'name every change' },
} as const;

export const run = command({
  command: 'npx zx playbooks/history.mjs',
  purpose:
    'shows who changed the hosts, from whatever machine, what check mode found from here, and the releases, newest first. It is read-only.',
  options: historyOptions,
  examples: [
    '--inventory mainnet',
    '--inventory mainnet --limit rpc-1 --verbose',
    '--inventory mainnet --json',
  ],
  exits: { 0: 'all hosts answer', 3: 'bad input', 4: 'a host is unreachable', 130: 'interrupted' },
  around: (): HistoryAround => ({ ...onHosts(), folder: recordFolder }),
  work({ given }, around) {
    const last = wholeNumber('--last', given.last, 10_000) ?? 20;
    refuseOthersRecords(around.folder);
    return withHosts(given, around, async (reached) => {
      const sessions = sessionsOf(reached.hosts);
      const read = await Promise.all(sessions.map(({ name, session }) => readHistory(name, session.reader)));
      const runs = mergeRuns(read).slice(0, last);
      const checks = checksIn(around.folder, reached.inventory, last);
      const found = { reached, read, runs, checks };
      const lines = given.json ? [jsonOf(found)] : linesOf(found, given.verbose);
      for (const line of lines) around.say(redact(line));
      return exitCode.converged;
    });
  },
});

interface Found {
  readonly reached: ReachedHosts;
  readonly read: readonly HostHistory[];
  readonly runs: readonly PastRun[];
  readonly checks: readonly PastCheck[];
}

function jsonOf({ reached: { hosts }, read, runs, checks }: Found): string {
  const releases = read.flatMap(({ host, releases: own }) =>
    own.map(({ files, made, ...release }) => ({
      host,
      ...release,
      files: [...files.keys()],
      ...madeBy(made),
    })),
  );
  const missing = hosts.flatMap((host) => ('error' in host ? [[host.name, describeError(host.error)]] : []));
  return JSON.stringify({ runs, checks, releases, unreachable: Object.fromEntries(missing) });
}

function madeBy(made: HostHistory['releases'][number]['made']) {
  if (!made) return {};
  const { token: run, who, since: time, playbook, inventory, commit } = made;
  return { run, who, time, playbook, inventory, commit };
}

/** A time as 2024-11-21 16:42:35, UTC. */
const shown = (time: string) => time.replace('T', ' ').replace(/(\.\d+)?Z$/, '');

function linesOf({ reached: { hosts }, read, runs, checks }: Found, verbose: boolean) {
  const width = Math.max(...hosts.map(({ name }) => name.length));
  const line = (host: string, text: string) => printable(`    ${host.padEnd(width)}  ${text}`);
  const of = (commit: string | undefined) => (commit === undefined ? '' : `, commit ${commit}`);
  const ofRun = ({ time, playbook, inventory, who, commit, hosts: parts }: PastRun) => [
    printable(`${shown(time)}  ${playbook} of ${inventory} by ${who}${of(commit)}`),
    ...parts.flatMap(({ host, end }) => [
      line(host, endOf(end)),
      ...(verbose ? (end?.changed ?? []).map((title) => line('', `  changed ${title}`)) : []),
    ]),
  ];
  const ofCheck = ({ time, hosts: parts, why }: PastCheck) =>
    printable(
      `    ${shown(time)}  ${[...parts.map(({ host, found }) => `${host} ${found}`), ...(why ? [why] : [])].join('; ')}`,
    );
  const ofHost = ({ host, releases, bad }: HostHistory) => [
    ...releases.map(({ number, isCurrent, images, made }) => {
      const versions = [...new Set(images.map(({ name }) => `${nameOf(name)} ${versionOf(name)}`))].join(
        ', ',
      );
      const by = made ? `  ${shown(made.since)}  ${made.who}${of(made.commit)}` : '';
      return line(host, `${isCurrent ? '*' : ' '}${number}${by}  ${versions}`);
    }),
    ...(bad > 0 ? [line(host, `${bad} lines of its journal cannot be read`)] : []),
  ];
  return [
    ...hosts.flatMap((host) => ('error' in host ? unreachableLines(hosts, host) : [])),
    ...(runs.length > 0 || read.length === 0
      ? runs.flatMap(ofRun)
      : [`no run has changed ${read.map(({ host }) => host).join(', ')} since there is a journal`]),
    ...(checks.length > 0 ? ['check mode, from here', ...checks.map(ofCheck)] : []),
    'releases (* is deployed)',
    ...read.flatMap(ofHost),
  ];
}

function endOf(end: PastRun['hosts'][number]['end']): string {
  if (!end) return 'interrupted or killed, or it still runs';
  const why = end.failed.join(', ') || end.why;
  return `${end.ended}${why ? `: ${why}` : ''}, ${end.changed.length} changed`;
}

/** Of an image: `registry:5000/owner/node:v1` is a node. */
function nameOf(image: string): string {
  return /([^/:@]+)(:[^/@]*)?(@.*)?$/.exec(image)?.[1] ?? image;
}
