import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { $ } from 'zx';
import { deployedLab } from './deployed-lab.ts';
import { blockNumber, onHost, started } from './lab-host.ts';
import { folderForTest } from './lab-inventory.ts';
import { named, runPlaybook, startPlaybook, summaryOf } from './playbook.ts';

beforeAll(deployedLab);

const deploy = (...args: string[]) => runPlaybook('deploy', '--inventory', 'lab', ...args);
/** Roles that are enough to show what a run does itself. */
const few = ['--role', 'time-sync', '--role', 'configuration'] as const;
const fewOfOne = [...few, '--limit', 'rpc-1'] as const;

function runOnTerminal(args: readonly string[]) {
  const words = [
    'node',
    'node_modules/zx/build/cli.js',
    'playbooks/deploy.mjs',
    '--inventory',
    'lab',
    ...args,
  ];
  return $({ quiet: true, nothrow: true })`script --quiet --return --command ${words.join(' ')} /dev/null`;
}

/**
 * As on an operator's terminal.
 *
 * @param answers the input, each when it is asked for
 */
async function onTerminal(answers: readonly string[], ...args: readonly string[]) {
  const run = runOnTerminal(args);
  let output = '';
  let answered = 0;
  run.stdout.on('data', (chunk) => {
    output += chunk;
    const questions = output.match(/\[y\/N\] |\[d\]iff: /g)?.length ?? 0;
    for (; answered < questions; answered += 1) run.stdin.write(`${answers[answered] ?? ''}\n`);
  });
  const ended = await run;
  return { exitCode: ended.exitCode, output: stripVTControlCharacters(output) };
}

const zone = (host: string) => onHost(host, 'readlink -f /etc/localtime');
const moveZone = (host: string) => onHost(host, 'ln -sf /usr/share/zoneinfo/Europe/Paris /etc/localtime');

test('check mode shows the exact commands, and follows a change to its dependents', async () => {
  await moveZone('rpc-1');
  await onHost('rpc-1', 'rm /opt/rpc-node/node.config.toml');
  const check = await deploy('--check', '--limit', 'rpc-1');
  expect(check.exitCode, check.output).toBe(2);
  expect(check.output).toMatch(
    /pending +time-sync: time zone is Etc\/UTC\n(rpc-1 .*\n)*?rpc-1 +\$ .*Etc\/UTC/,
  );
  expect(check.output).toMatch(
    /\$ write \/opt\/rpc-node\/node\.config\.toml \(\d+ bytes, mode 0600, root:root\)/,
  );
  expect(check.output).toMatch(
    /pending +json-rpc: json-rpc is running.*\(is restarted after file \/opt\/rpc-node\/node\.config\.toml\)/,
  );
  expect(check.output).toMatch(
    /unknown +json-rpc: json-rpc listens on 8123.*\(is checked again after container json-rpc\)/,
  );
  expect(check.output).toMatch(
    /unknown +verify: eth_blockNumber .*\(is checked again after container json-rpc\)/,
  );

  // The prediction is what happens.
  const before = await started('rpc-1');
  const run = await deploy('--limit', 'rpc-1');
  expect(run.exitCode, run.output).toBe(0);
  expect(named(run.output, 'changed')).toEqual(named(check.output, 'pending'));
  const restarted = (line: string) => line.startsWith('/json-rpc ');
  const rest = (text: string) => text.split('\n').filter((line) => !restarted(line));
  expect(rest(await started('rpc-1'))).toEqual(rest(before));
  expect(await started('rpc-1')).not.toBe(before);
  expect(await blockNumber('rpc-1')).toBeGreaterThan(0);
});

test('a saved plan is refused by name if the hosts have changed, and otherwise followed exactly', async () => {
  const file = join(await folderForTest(), 'plan.json');
  await moveZone('rpc-1');
  await moveZone('rpc-2');
  const check = await deploy(...few, '--check', '--out', file);
  expect(check.exitCode, check.output).toBe(2);
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    playbook: 'deploy',
    inventory: { name: 'lab' },
  });

  await onHost('rpc-1', 'ln -sf /usr/share/zoneinfo/Etc/UTC /etc/localtime');
  await onHost('db-1', 'chmod 0644 /opt/rpc-node/prover.config.json');
  const stale = await runPlaybook('deploy', '--plan', file);
  expect(stale.exitCode, stale.output).toBe(3);
  expect(stale.output).toContain('rpc-1: time-sync: time zone is Etc/UTC: ok or failing since');
  expect(stale.output).toContain('db-1: configuration: file /opt/rpc-node/prover.config.json: drifted since');
  expect(await zone('rpc-2')).toMatch(/Paris$/);

  await onHost('db-1', 'chmod 0600 /opt/rpc-node/prover.config.json');
  await moveZone('rpc-1');
  const run = await runPlaybook('deploy', '--plan', file);
  expect(run.exitCode, run.output).toBe(0);
  expect(named(run.output, 'changed').sort()).toEqual([
    'rpc-1 time-sync: time zone is Etc/UTC',
    'rpc-2 time-sync: time zone is Etc/UTC',
  ]);
  const check2 = await deploy(...few, '--check');
  expect(check2.exitCode, check2.output).toBe(0);
});

test('on a terminal the plan is shown and has to be confirmed with yes', async () => {
  await moveZone('rpc-1');
  const declined = await onTerminal(['n'], ...fewOfOne);
  expect(declined.exitCode, declined.output).toBe(2);
  expect(declined.output).toMatch(
    /pending.*time zone is Etc\/UTC[\s\S]*make these changes on rpc-1\? \[y\/N\]/,
  );
  expect(declined.output).toContain('nothing was changed');
  expect(await zone('rpc-1')).toMatch(/Paris$/);

  const confirmed = await onTerminal(['y'], ...fewOfOne);
  expect(confirmed.exitCode, confirmed.output).toBe(0);
  expect(await zone('rpc-1')).toMatch(/UTC$/);

  await moveZone('rpc-1');
  const unasked = await onTerminal([], '--yes', ...fewOfOne);
  expect(unasked.exitCode, unasked.output).toBe(0);
  expect(unasked.output).not.toContain('[y/N]');
});

test('--step asks before each change, skips one after a no, and ends after quit', async () => {
  await moveZone('rpc-1');
  await onHost('rpc-1', 'chmod 0644 /opt/rpc-node/prover.config.json');
  const run = await onTerminal(['n', 'q'], '--step', ...fewOfOne);
  expect(run.exitCode, run.output).toBe(2);
  expect(run.output).toContain('rpc-1: you ended the run here');
  expect(await zone('rpc-1')).toMatch(/Paris$/);
  const next = await onTerminal(['y', 'n'], '--step', ...fewOfOne);
  expect(next.exitCode, next.output).toBe(2);
  expect(next.output).toMatch(/rpc-1 +skipped configuration: file \/opt\/rpc-node\/prover\.config\.json/);
  expect(await zone('rpc-1')).toMatch(/UTC$/);
  expect(await onHost('rpc-1', 'stat -c %a /opt/rpc-node/prover.config.json')).toBe('644');
  const rest = await deploy(...few);
  expect(rest.exitCode, rest.output).toBe(0);
});

test('tasks are listed, a run starts at one of them, and roles are skipped', async () => {
  const list = await deploy('--list-tasks', '--limit', 'rpc');
  expect(list.exitCode, list.output).toBe(0);
  expect(list.stdout).toMatch(
    /^rpc-1, rpc-2\n {2}play: one synchronizer\n {4}one-synchronizer\n[\s\S]*\n {2}play: preflight\n {4}preflight\n[\s\S]*\n {4}packages\n {6}[\s\S]*\n {4}time-sync\n {6}/m,
  );

  await moveZone('rpc-1');
  await onHost('rpc-1', 'chmod 0644 /opt/rpc-node/prover.config.json');
  const later = await deploy(...fewOfOne, '--start-at', 'file /opt/rpc-node/prover.config.json');
  expect(later.exitCode, later.output).toBe(0);
  expect(await zone('rpc-1')).toMatch(/Paris$/);
  expect(await onHost('rpc-1', 'stat -c %a /opt/rpc-node/prover.config.json')).toBe('600');

  const skipped = await deploy('--limit', 'rpc-1', '--skip-role', 'time-sync');
  expect(skipped.exitCode, skipped.output).toBe(0);
  expect(summaryOf(skipped.output)).toMatchObject({ 'rpc-1': { changed: '0' } });
  expect(await zone('rpc-1')).toMatch(/Paris$/);
  const misspelt = await deploy(...fewOfOne, '--start-at', 'file /opt/rpc-node/prover.config.jsn');
  expect(misspelt.exitCode, misspelt.output).toBe(3);
  expect(misspelt.output).toContain('did you mean file /opt/rpc-node/prover.config.json?');
  const rest = await deploy(...few);
  expect(rest.exitCode, rest.output).toBe(0);
});

describe('two simultaneous runs', () => {
  const package_ = 'postgresql-client-15';
  const tools = ['--role', 'client-tools', '--limit', 'rpc-1'] as const;
  const purge = (host: string) => onHost(host, `dpkg --purge --force-depends ${package_} >/dev/null`);

  test('the second is refused with the holder of the lock, and changes nothing; check mode needs no lock', async () => {
    await moveZone('rpc-1');
    await moveZone('rpc-2');
    const first = runOnTerminal([...fewOfOne, '--step']);
    await expect
      .poll(() => onHost('rpc-1', 'cat /run/rpc-playbooks/lock/holder || true'), { timeout: 60_000 })
      .toContain('token');
    const both = [...few, '--limit', 'rpc'];
    const [second, check] = await Promise.all([deploy(...both), deploy(...both, '--check')]);
    expect(second.exitCode, second.output).toBe(5);
    expect(second.output).toMatch(
      /rpc-1 is locked by \S+@\S+ \(process \d+\), which runs deploy on lab since 20/,
    );
    expect(named(second.output, 'changed')).toEqual([]);
    expect([0, 2], check.output).toContain(check.exitCode);
    // It waits for an answer, and keeps its lock meanwhile.
    first.stdin.write('a\n');
    expect((await first).exitCode).toBe(0);
    expect(await onHost('rpc-1', 'ls -d /run/rpc-playbooks/lock || true')).toBe('');
    expect(await zone('rpc-2')).toMatch(/Paris$/);
    const rest = await deploy(...few);
    expect(rest.exitCode, rest.output).toBe(0);
  });

  test('the lock of a killed run does not block the next one', async () => {
    await purge('rpc-1');
    const killed = startPlaybook('deploy', '--inventory', 'lab', ...tools);
    await expect
      .poll(() => onHost('rpc-1', 'cat /run/rpc-playbooks/lock/holder || true'), { timeout: 60_000 })
      .toContain('token');
    killed.child.kill('SIGKILL');
    await killed.ended;
    const next = await deploy(...tools);
    expect(next.exitCode, next.output).toBe(0);
  });

  test('the lock of another machine is taken over only on request', async () => {
    await purge('rpc-1');
    const holder = {
      token: 'x'.repeat(36),
      who: 'someone@elsewhere',
      playbook: 'deploy',
      inventory: 'lab',
      since: '2024-01-01T00:00:00.000Z',
      process: { pid: 7, start: '1', machine: 'elsewhere' },
    };
    await onHost(
      'rpc-1',
      `mkdir -p /run/rpc-playbooks/lock && echo '${JSON.stringify(holder)}' > /run/rpc-playbooks/lock/holder
       touch -d '-10 minutes' /run/rpc-playbooks/lock/holder`,
    );
    const kept = await deploy(...tools);
    expect(kept.exitCode, kept.output).toBe(5);
    expect(kept.output).toMatch(/someone@elsewhere.*without a heartbeat for 6\d\d s\n.*--break-lock/);
    const taken = await deploy(...tools, '--break-lock');
    expect(taken.exitCode, taken.output).toBe(0);
  });
});
