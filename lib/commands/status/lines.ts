import type { Paint } from '../../engine/output/colour.ts';
import { describeError } from '../../engine/output/describe-error.ts';
import { bytes, seconds } from '../../engine/output/units.ts';
import { redact } from '../../engine/secret/secret.ts';
import { printable } from '../../engine/text/printable.ts';
import type { HostStatus } from '../../node/status/host.ts';
import type { ContainerSeen, Head } from '../../node/status/status.ts';
import type { LastRun } from './last-run.ts';
import { containerWords, count, findingWords, offset } from './words.ts';

/** A status as it is shown: what it found, with what this machine remembers of the host. */
export interface Shown extends HostStatus {
  readonly lastRun: LastRun | undefined;
}

/** How lines are made. */
export interface StatusStyle {
  readonly paint: Paint;
  /** Columns of the terminal, which a line must not exceed; undefined where that does not matter. */
  readonly width: number | undefined;
  /** Lines of the terminal: where all does not fit, healthy hosts are shown in one line. */
  readonly height: number | undefined;
  /** By this machine's clock, milliseconds since 1970. */
  readonly now: number;
}

const colours = { healthy: 'green', unhealthy: 'red', unreachable: 'red' } as const;

/** Worst first: nothing is known of an unreachable host. Else in the order of the inventory. */
const rank = { unreachable: 0, unhealthy: 1, healthy: 2 } as const;

export function worstFirst<T extends HostStatus>(hosts: readonly T[]): T[] {
  const place = ({ health, findings }: T) => rank[health] * 2 + (findings.length > 0 ? 0 : 1);
  return [...hosts].sort((a, b) => place(a) - place(b));
}

/** A block for each host, worst first, and a line that counts them. */
export function statusLines(hosts: readonly Shown[], style: StatusStyle): string[] {
  if (hosts.length === 0) return [];
  const sorted = worstFirst(hosts);
  const width = Math.max(...hosts.map(({ host }) => host.length));
  const whole = sorted.map((host) => hostBlock(host, width, style));
  const summary = summaryLine(sorted, style.paint);
  const all = (blocks: readonly string[][]) => [...blocks.flatMap((block) => [...block, '']), summary];
  const room = style.height ?? Number.POSITIVE_INFINITY;
  if (all(whole).length <= room) return all(whole);
  const short = whole.flatMap((block, at) => (sorted[at]?.health === 'healthy' ? block.slice(0, 1) : block));
  if (short.length < room) return [...short, summary];
  const shown = short.slice(0, Math.max(0, room - 2));
  return [...shown, style.paint('dim', `… ${short.length - shown.length} more lines`), summary];
}

function hostBlock(status: Shown, nameWidth: number, style: StatusStyle): string[] {
  const { paint } = style;
  const { host, health, seen } = status;
  const name = host.padEnd(nameWidth);
  const line = (text: string, colour?: Parameters<Paint>[0]) => {
    const cut = clipped(redact(printable(text)).replaceAll('\n', ' '), style.width);
    return colour === undefined ? cut : paint(colour, cut);
  };
  if (!seen) return [line(`${name}  ${health}: ${reason(status)}`, 'red')];
  const head = clipped(`${name}  ${health}${chainBrief(status)}`, style.width);
  const painted = head.replace(`${host}`, paint('bold', host)).replace(health, paint(colours[health], health));
  return [
    painted,
    ...status.findings.map((finding) => line(`  ${findingWords(finding)}`, finding.fault ? 'red' : 'yellow')),
    ...facts(status, style.now).map(([title, text]) => line(`    ${title.padEnd(10)}  ${text}`, 'dim')),
  ];
}

/** The rest of the line that says how a host is: `, block 4,252`. */
function chainBrief({ seen, standing }: Shown): string {
  if (!seen?.chain.own.ok) return '';
  const at = `block ${count(seen.chain.own.value.block.number)}`;
  return `, ${at}${standing === 'caught-up' ? ', caught up' : ''}`;
}

function reason({ host, error }: HostStatus): string {
  const text = describeError(error);
  return (text.startsWith(`${host}: `) ? text.slice(host.length + 2) : text).replaceAll(/\n\s*/g, '; ');
}

function facts(status: Shown, now: number): (readonly [string, string])[] {
  const { seen, lastRun } = status;
  if (!seen) return [];
  const { containers, disks, clock, at } = seen;
  const there = Object.entries(containers).flatMap(([name, one]) => (one ? [[name, one] as const] : []));
  const unseen = seen.docker === 'active' ? 'none' : 'not seen, for the engine does not run';
  return [
    ['blocks', chainWords(status)],
    ['containers', there.map(([name, one]) => `${name} ${containerWords(one, at)}`).join(', ') || unseen],
    ['versions', versions(status, there)],
    [
      'disks',
      `${disks.map(({ mount, size, usedPercent }) => `${mount} ${usedPercent}% of ${bytes(size)}`).join(', ')} (alert from ${status.expected.diskWarnPercent}%)`,
    ],
    [
      'clock',
      clock.offServer === undefined ? 'no time server' : `${offset(clock.offServer)} the time server ${clock.server}`,
    ],
    ...(lastRun ? [['last run', lastRunWords(lastRun, now)] as const] : []),
    ...(now - status.at > 15_000 ? [['seen', `${seconds((now - status.at) / 1000)} ago`] as const] : []),
  ];
}

function chainWords({ seen, standing, behind }: Shown): string {
  if (!seen) return '';
  const { own, trusted, comparison, from } = seen.chain;
  const height = ({ block, batch }: Head) =>
    `${count(block.number)}${batch === undefined ? '' : `, batch ${count(batch)}`}`;
  const parts: string[] = [];
  if (own.ok) {
    const { block, written } = own.value;
    const [verb, time] = written === undefined ? ['made', block.time] : ['written', written];
    parts.push(`${height(own.value)}, ${verb} ${seconds(Math.max(0, seen.at - time))} ago (${from})`);
  } else {
    parts.push(`none from ${from}`);
  }
  if (trusted.ok) parts.push(`trusted sequencer ${height(trusted.value)}`);
  if (behind !== undefined)
    parts.push(behind > 0 ? `${count(behind)} behind` : behind < 0 ? `${count(-behind)} ahead` : 'level');
  if (comparison?.ok && standing !== 'diverged') parts.push(`same hash at ${count(comparison.value.height)}`);
  return parts.join('; ');
}

/** `node v3.1.0, prover v6.0.2, postgres 15`: each image once, by the last part of its name. */
function versions({ findings, generation }: Shown, there: readonly (readonly [string, ContainerSeen])[]): string {
  if (there.length === 0) return `none; the inventory's generation is ${generation}`;
  const names = there.map(([, { image }]) => (image.split('/').at(-1) ?? image).replace(':', ' '));
  const differs = findings.some((finding) => finding.is === 'wrong-image');
  return `${[...new Set(names)].join(', ')}, ${differs ? 'not ' : ''}as the inventory says (generation ${generation})`;
}

function lastRunWords({ playbook, time, ended, changed }: LastRun, now: number): string {
  const ago = seconds(Math.max(0, (now - Date.parse(time)) / 1000));
  return `${playbook} ${ended}${changed > 0 ? `, ${count(changed)} changed` : ''}, ${ago} ago (${time})`;
}

function summaryLine(hosts: readonly HostStatus[], paint: Paint): string {
  const parts = (Object.keys(colours) as (keyof typeof colours)[]).flatMap((health) => {
    const number = hosts.filter((host) => host.health === health).length;
    return number === 0 ? [] : [paint(colours[health], `${number} ${health}`)];
  });
  return `${hosts.length} ${hosts.length === 1 ? 'host' : 'hosts'}: ${parts.join(', ')}`;
}

/** A line that wraps would tear the redraw. */
function clipped(line: string, width: number | undefined): string {
  return width !== undefined && line.length > width ? `${line.slice(0, width - 1)}…` : line;
}
