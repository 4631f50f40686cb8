import { seconds } from '../../engine/output/units.ts';
import type { ContainerSeen, Finding } from '../../node/status/status.ts';

/** A finding in words, after the name of what it is about: `json-rpc: 132 blocks behind (block 4,120 of 4,252)`. */
export function findingWords(finding: Finding): string {
  return `${finding.about}: ${words(finding)}`;
}

function words(finding: Finding): string {
  switch (finding.is) {
    case 'docker-down':
      return `the engine does not run (${finding.state})`;
    case 'missing':
      return 'there is no such container, and this host should run it';
    case 'out-of-place':
      return finding.about === 'sync'
        ? 'runs here, and should not: two synchronizers on one database corrupt it'
        : 'runs here, and should not';
    case 'stopped': {
      const code = finding.status === 'exited' ? ` with ${finding.exitCode}` : '';
      return `${finding.status}${code}${ago(finding.forSeconds)}`;
    }
    case 'restarting':
      return `keeps restarting (${times(finding.restarts)} so far)`;
    case 'restarted': {
      const since = finding.forSeconds === undefined ? '' : `, and has run for ${seconds(finding.forSeconds)}`;
      return `was restarted ${times(finding.restarts)} by Docker${since}`;
    }
    case 'unhealthy':
      return 'runs, and its own health check says unhealthy';
    case 'wrong-image':
      return `runs ${finding.running}, and the inventory says ${finding.wanted}`;
    case 'other-configuration':
      return "runs with a configuration that is not the inventory's: deploy.mjs --check shows what differs";
    case 'halted':
      return `halted: ${finding.words}`;
    case 'behind': {
      const still = finding.stillFor === undefined ? '' : `, and no new one for ${seconds(finding.stillFor)}`;
      return `${blocks(finding.behind)} behind (block ${count(finding.block)} of ${count(finding.of)})${still}${said(finding.words)}`;
    }
    case 'stale':
      return `no new block for ${seconds(finding.stillFor)} (the newest is ${count(finding.block)})${said(finding.words)}`;
    case 'ahead':
      return `${blocks(finding.ahead)} ahead of the trusted sequencer`;
    case 'diverged':
      return `diverged from the trusted sequencer: block ${count(finding.height)} is ${short(finding.here)} here and ${short(finding.there)} there`;
    case 'not-compared':
      return `block hashes could not be compared with the trusted sequencer: ${finding.error}`;
    case 'no-answer':
      return finding.error;
    case 'still':
      return `it has itself made no block for ${seconds(finding.stillFor)} (the newest is ${count(finding.block)})`;
    case 'full':
      return `${finding.mount} is ${finding.usedPercent}% full (alert from ${finding.warnPercent}%)`;
    case 'not-synchronised':
      return finding.words;
    case 'off-controller':
      return `${offset(finding.seconds)} this machine's; one of the two is wrong`;
  }
}

/** `running for 2 h 05 min`, `exited with 1 3 min ago`. @param at seconds since 1970, by the host's clock */
export function containerWords({ status, exitCode, since }: ContainerSeen, at: number): string {
  const forSeconds = since === undefined ? undefined : Math.max(0, at - since);
  if (status === 'running') return forSeconds === undefined ? 'running' : `up ${seconds(forSeconds)}`;
  return `${status}${status === 'exited' ? ` with ${exitCode}` : ''}${ago(forSeconds)}`;
}

/** `0.3 ms behind`, `2.1 s ahead of`. */
export function offset(value: number): string {
  const size = Math.abs(value);
  const amount =
    size < 0.001 ? `${Math.round(size * 1e6)} µs` : size < 1 ? `${Math.round(size * 1e3)} ms` : seconds(size);
  return `${amount} ${value < 0 ? 'behind' : 'ahead of'}`;
}

/** With separators, so that heights can be compared at a glance. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

function blocks(value: number): string {
  return `${count(value)} ${value === 1 ? 'block' : 'blocks'}`;
}

function times(value: number): string {
  return value === 1 ? 'once' : `${count(value)} times`;
}

function ago(forSeconds: number | undefined): string {
  return forSeconds === undefined ? '' : `, ${seconds(forSeconds)} ago`;
}

function said(text: string | undefined): string {
  return text === undefined ? '' : `; its last error: ${text}`;
}

/** As many digits as tell two hashes apart. */
function short(hash: string): string {
  return hash.length > 14 ? `${hash.slice(0, 10)}…` : hash;
}
