import type { Colour, Paint } from '../../engine/output/colour.ts';
import { describeErrorOn, inLines } from '../../engine/output/describe-error.ts';
import { bytes, seconds } from '../../engine/output/units.ts';
import { redact } from '../../engine/secret/secret.ts';
import { counted } from '../../engine/text/counted.ts';
import { keysOf } from '../../engine/text/keys.ts';
import { printable } from '../../engine/text/printable.ts';
import type { Block } from '../../node/chain/chain.ts';
import type { HostStatus } from '../../node/status/host.ts';
import type { HostState } from '../../node/status/read.ts';
import { count, offset, serviceWords } from '../../node/status/words.ts';
import type { LastRun } from './last-run.ts';

/** The status of a host with its last run. */
export interface Shown extends HostStatus {
  readonly lastRun: LastRun | undefined;
}

interface StatusStyle {
  readonly paint: Paint;
  /** Columns of the terminal, which a line must not exceed. */
  readonly width?: number;
  /** Lines of the terminal: if not everything fits, each healthy host gets one line. */
  readonly height?: number;
  /** By this machine's clock, milliseconds since 1970. */
  readonly now: number;
}

const colours = { healthy: 'green', unhealthy: 'red', unreachable: 'red' } as const;

/**
 * Worst first: nothing is known of an unreachable host. Otherwise in the order of the inventory.
 */
function worstFirst(hosts: readonly Shown[]): Shown[] {
  const rank = { unreachable: 0, unhealthy: 2, healthy: 4 };
  const place = ({ health, findings }: Shown) => rank[health] + (findings.length > 0 ? 0 : 1);
  return hosts.toSorted((a, b) => place(a) - place(b));
}

/** A block for each host, worst first, and a line that counts them. */
export function statusLines(hosts: readonly Shown[], style: StatusStyle): string[] {
  if (hosts.length === 0) return [];
  const sorted = worstFirst(hosts);
  const nameWidth = Math.max(...hosts.map(({ host }) => host.length));
  const blocks = sorted.map((host) => hostBlock(host, nameWidth, style));
  const summary = summaryLine(hosts, style.paint);
  const all = [...blocks.flatMap((block) => [...block, '']), summary];
  const { height = all.length } = style;
  if (all.length <= height) return all;
  const short = blocks.flatMap((block, i) => (sorted[i]?.health === 'healthy' ? block.slice(0, 1) : block));
  if (short.length < height) return [...short, summary];
  const shown = short.slice(0, Math.max(0, height - 2));
  return [...shown, style.paint('dim', `… ${short.length - shown.length} more lines`), summary];
}

function hostBlock(status: Shown, nameWidth: number, { paint, width, now }: StatusStyle): string[] {
  const { host, health, state, findings, standing, error } = status;
  const line = (colour: Colour, text: string) =>
    paint(colour, clipped(redact(printable(text)).replaceAll('\n', ' '), width));
  const start = `${host.padEnd(nameWidth)}  ${health}`;
  if (!state && error !== undefined) {
    const [reason, ...more] = inLines(describeErrorOn(host, error));
    return [`${start}: ${reason}`, ...more].map((each) => line('red', each));
  }
  const own = state?.chain.own;
  const block = own?.ok
    ? `, block ${count(own.value.block)}${standing === 'caught-up' ? ', caught up' : ''}`
    : '';
  const head = clipped(`${start}${block}`, width);
  const ofNode = state
    ? facts(status, state, now).map(([title, text]) => `${title.padEnd(10)}  ${text}`)
    : [];
  const more = [...ofNode, ...providerLines(status.layer1), ...fleetLines(status.fleet)];
  return [
    head.replace(host, paint('bold', host)).replace(health, paint(colours[health], health)),
    ...findings.map(({ fault, says }) => line(fault ? 'red' : 'yellow', `  ${says}`)),
    ...more.map((text) => line('dim', `    ${text}`)),
  ];
}

function providerLines(choice: Shown['layer1']): string[] {
  return (choice?.providers ?? []).map(({ provider, used, usable, height }, at) => {
    const title = (at === 0 ? 'layer 1' : '').padEnd(10);
    const block = height === null ? 'no block' : `block ${count(height)}`;
    const waits = usable ? 'waits' : 'is out';
    return `${title}  ${provider} ${used ? 'is used' : waits}, ${block}`;
  });
}

function fleetLines(fleet: Shown['fleet']): string[] {
  return (fleet?.hosts ?? []).map(({ host, serves, height, sessions }) => {
    const block = height === null ? 'no block' : `block ${count(height)}`;
    return `${host}  ${serves ? 'serves' : 'is out'}, ${block}, ${count(sessions)} in work`;
  });
}

function facts(status: Shown, state: HostState, now: number): (readonly [string, string])[] {
  const { chain, containers, disks, clock, at, docker } = state;
  const { lastRun, expected } = status;
  const services = Object.entries(containers).flatMap(([name, service]) =>
    service ? [{ name, ...service }] : [],
  );
  const none = docker === 'active' ? 'none' : 'not seen, for the engine does not run';
  const uses = disks.map(({ mount, size, usedPercent }) => `${mount} ${usedPercent}% of ${bytes(size)}`);
  const age = (now - status.at) / 1000;
  return [
    ['blocks', chainWords(chain, status, at)],
    ...replicaLine(status.replica),
    [
      'containers',
      services.map((service) => `${service.name} ${serviceWords(service, at)}`).join(', ') || none,
    ],
    ['versions', versions(status, [...new Set(services.map(({ image }) => image))])],
    ['disks', `${uses.join(', ')} (alert from ${expected.diskWarnPercent}%)`],
    [
      'clock',
      clock.offServer === undefined
        ? (clock.server ?? 'no time server')
        : `${offset(clock.offServer)} the time server ${clock.server}`,
    ],
    ...(lastRun ? [['last run', lastRunWords(lastRun, now)] as const] : []),
    ...(age > 15 ? [['seen', `${seconds(age)} ago`] as const] : []),
  ];
}

function replicaLine(replica: Shown['replica']): (readonly [string, string])[] {
  if (!replica?.ok) return [];
  const { receives, bytesBehind, secondsBehind, cancelled } = replica.value;
  const lag = `${bytes(bytesBehind)} and ${seconds(secondsBehind)} behind`;
  return [
    [
      'replica',
      `${receives ? 'receives' : 'receives nothing'}, ${lag}, ${count(cancelled)} queries cancelled`,
    ],
  ];
}

function chainWords(
  { own, trusted, comparison, from }: HostState['chain'],
  { standing, behind }: Shown,
  at: number,
) {
  const height = ({ block, batch }: Block) =>
    `${count(block)}${batch === undefined ? '' : `, batch ${count(batch)}`}`;
  const parts: string[] = [];
  if (own.ok) {
    const { made, written } = own.value;
    const verb = written === undefined ? 'made' : 'written';
    parts.push(`${height(own.value)}, ${verb} ${seconds(Math.max(0, at - (written ?? made)))} ago (${from})`);
  } else {
    parts.push(`none from ${from}`);
  }
  if (trusted.ok) parts.push(`trusted sequencer ${height(trusted.value)}`);
  if (behind !== undefined) parts.push(distance(behind));
  if (comparison?.ok && standing !== 'diverged') parts.push(`same hash at ${count(comparison.value.height)}`);
  return parts.join('; ');
}

/**
 * @param behind blocks, negative for a host that has more
 */
function distance(behind: number): string {
  if (behind === 0) return 'level';
  return behind > 0 ? `${count(behind)} behind` : `${count(-behind)} ahead`;
}

/** `node v3.1.0, prover v6.0.2, postgres 15`: each image by the last part of its name. */
function versions({ findings, generation }: Shown, images: readonly string[]): string {
  if (images.length === 0) return `none; the inventory's generation is ${generation}`;
  const names = new Set(images.map((image) => (image.split('/').at(-1) ?? image).replace(':', ' ')));
  const differs = findings.some((finding) => finding.is === 'wrong-image');
  return `${[...names].join(', ')}, ${differs ? 'not ' : ''}as the inventory says (generation ${generation})`;
}

function lastRunWords({ playbook, time, ended, changed }: LastRun, now: number): string {
  const ago = seconds(Math.max(0, (now - Date.parse(time)) / 1000));
  const words = ended === 'skipped' ? 'skipped tasks' : ended;
  return `${playbook} ${words}${changed > 0 ? `, ${count(changed)} changed` : ''}, ${ago} ago (${time})`;
}

function summaryLine(hosts: readonly HostStatus[], paint: Paint): string {
  const parts = keysOf(colours).flatMap((health) => {
    const number = hosts.filter((host) => host.health === health).length;
    return number === 0 ? [] : [paint(colours[health], `${number} ${health}`)];
  });
  return `${counted(hosts.length, 'host')}: ${parts.join(', ')}`;
}

/** A line that wraps would break the redraw. */
function clipped(line: string, width = Number.POSITIVE_INFINITY): string {
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}
