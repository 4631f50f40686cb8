import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { filesHereWithPasswords, filesWithPasswords, labPasswords, watchProcesses } from './canary.ts';
import {
  blockNumber,
  containersOf,
  files,
  labHosts,
  listing,
  onHost,
  rpc,
  specifiedIndexes,
  started,
  stateIndexes,
  stateSql,
} from './lab-host.ts';
import { folderForTest } from './lab-inventory.ts';
import { named, runPlaybook, summaryOf } from './playbook.ts';

beforeAll(async () => {
  await labUp({ log: console.error });
  // A lab that has just been made is bare.
  const ofDeploy = 'ls -d /opt/rpc-node /usr/bin/docker 2>/dev/null || true';
  const used = await Promise.all(labHosts.map((host) => onHost(host, ofDeploy)));
  if (used.join('') !== '') await resetHosts([...labHosts]);
  // sshd answers before the boot has finished, and changes of the boot are not ours.
  for (const host of labHosts) await onHost(host, 'systemctl is-system-running --wait || true');
});

afterAll(async () => {
  for (const host of labHosts) console.error(`${host}: ${await onHost(host, 'docker ps 2>&1 || true')}`);
});

test('check mode on bare hosts plans everything and changes nothing', async () => {
  const before = await Promise.all(labHosts.map(listing));
  const run = await runPlaybook('deploy', '--inventory', 'lab', '--check');
  expect(run.exitCode, run.output).toBe(2);
  expect(await Promise.all(labHosts.map(listing))).toEqual(before);

  const pending = named(run.output, 'pending').join('\n');
  for (const host of labHosts) {
    expect(pending).toContain(`${host} docker: `);
    expect(pending).toContain(`${host} configuration: `);
    expect(pending).toContain(`${host} time-sync: `);
  }
  expect(named(run.output, 'unknown').join('\n')).toMatch(/db-1 snapshot: .*\n[\s\S]*rpc-1 json-rpc: /);
  expect(named(run.output, 'failed')).toEqual([]);
});

test('the first run deploys a serving node to bare hosts, and no password is shown', async () => {
  const passwords = await labPasswords();
  const stopWatching = watchProcesses(passwords);
  const report = join(await folderForTest(), 'report.html');
  const shown = ['--json', '--verbose', '--diff', '--report', report];
  const run = await runPlaybook('deploy', '--inventory', 'lab', ...shown);
  const inCommandLines = await stopWatching();
  expect(run.exitCode, run.output).toBe(0);
  expect(inCommandLines).toEqual([]);
  const [record = ''] = (await readdir('.runs'))
    .filter((name) => name.endsWith('-lab.ndjson'))
    .sort()
    .reverse();
  const outputs = [run.output, await readFile(report, 'utf8'), await readFile(join('.runs', record), 'utf8')];
  for (const text of outputs) {
    expect(text).toContain('time zone is Etc/UTC');
    for (const password of passwords) expect(text).not.toContain(password);
  }
  for (const host of labHosts) expect(await filesWithPasswords(host, passwords), host).toEqual([]);
  expect((await filesHereWithPasswords(passwords)).join()).toBe('');
  for (const host of labHosts) {
    const running = await onHost(host, `docker ps --format '{{.Names}}'`);
    expect(running.split('\n').sort()).toEqual([...containersOf[host]].sort());
  }
});

test('each RPC host answers with a block that is in the restored database, and blocks grow', async () => {
  for (const host of ['rpc-1', 'rpc-2']) {
    const first = await blockNumber(host);
    expect(first).toBeGreaterThan(0);
    const block = (await rpc(host, 'eth_getBlockByNumber', [`0x${first.toString(16)}`, false])) as {
      hash: string;
    };
    const stored = await stateSql(`select block_hash from state.l2block where block_num = ${first}`);
    expect(block.hash).toBe(stored);
    await expect.poll(() => blockNumber(host), { timeout: 60_000, interval: 1000 }).toBeGreaterThan(first);
  }
});

test('containers and databases match the specification', async () => {
  for (const container of ['state-db', 'pool-db']) {
    expect(await onHost('db-1', `docker inspect --format '{{.HostConfig.CpuShares}}' ${container}`)).toBe(
      '4096',
    );
  }
  expect(await onHost('db-1', `docker info --format '{{.DockerRootDir}}'`)).toBe('/data/docker');
  expect(await stateIndexes()).toEqual(expect.arrayContaining(specifiedIndexes));
});

test('databases and prover may open more files than the prover needs, though the engine gives a container 1024', async () => {
  for (const [host, container] of [
    ['db-1', 'state-db'],
    ['db-1', 'pool-db'],
    ['db-1', 'prover'],
    ['rpc-1', 'prover'],
  ] as const) {
    expect(await onHost(host, `docker exec ${container} cat /proc/1/limits`), container).toMatch(
      /^Max open files +8192 +8192 /m,
    );
  }
  // Without ulimits of its own, a container has what the engine gives; a shell does not raise it.
  const image = await onHost('db-1', `docker inspect --format '{{.Config.Image}}' prover`);
  expect(await onHost('db-1', `docker run --rm --entrypoint sh ${image} -c 'ulimit -S -n'`)).toBe('1024');
});

test('a second run changes nothing, restarts nothing, writes no file, in one connection and two requests per host', async () => {
  const before = await Promise.all(labHosts.flatMap((host) => [started(host), files(host)]));
  const since = Math.floor(Date.now() / 1000);
  const run = await runPlaybook('deploy', '--inventory', 'lab', '--json');
  expect(run.exitCode, run.output).toBe(0);
  const events = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { hosts } = events.find(({ type }) => type === 'run-finished');
  expect(hosts).toHaveLength(labHosts.length);
  for (const host of hosts) expect(host).toMatchObject({ roundTrips: 2, counts: { changed: 0, failed: 0 } });
  const logins = `journalctl --quiet --since @${since} --unit ssh --output cat | grep -c '^Accepted publickey' || true`;
  expect(await Promise.all(labHosts.map((host) => onHost(host, logins)))).toEqual(labHosts.map(() => '1'));
  expect(await Promise.all(labHosts.flatMap((host) => [started(host), files(host)]))).toEqual(before);
});

test('manual drift is named, all of it and nothing else, and fixed; only dependents restart', async () => {
  await onHost('rpc-1', 'ln -sf /usr/share/zoneinfo/Europe/Paris /etc/localtime');
  await onHost(
    'rpc-1',
    `sed -i 's/^MaxRequestsPerIPAndSecond.*/MaxRequestsPerIPAndSecond = 7/' /opt/rpc-node/node.config.toml`,
  );
  await onHost('rpc-2', 'docker stop -t 2 json-rpc');
  await onHost('rpc-2', 'chmod 0644 /opt/rpc-node/prover.config.json');
  await onHost(
    'db-1',
    `docker exec state-db sh -c 'psql -U "$POSTGRES_USER" -d "$POSTGRES_DB" -c "DROP INDEX state.log_topic2_idx"'`,
  );
  await onHost('rpc-2', `sed -i 's/172.30.77.10:5000/172.30.77.10:5001/' /etc/docker/daemon.json`);

  const check = await runPlaybook('deploy', '--inventory', 'lab', '--check');
  expect(check.exitCode, check.output).toBe(2);
  const expected = [
    /^rpc-1 time-sync: .*zone/,
    /^rpc-1 configuration: .*node\.config\.toml/,
    // The container started before the file changed.
    /^rpc-1 json-rpc: .*json-rpc/,
    /^rpc-2 json-rpc: .*json-rpc/,
    /^rpc-2 configuration: .*prover\.config\.json/,
    /^db-1 snapshot: .*log_topic2_idx/,
    /^rpc-2 docker: .*daemon\.json/,
    // The engine started before its settings changed.
    /^rpc-2 docker: docker\.service/,
  ];
  const pending = named(check.output, 'pending');
  for (const pattern of expected) expect(pending.join('\n')).toMatch(new RegExp(pattern.source, 'm'));
  expect(
    pending.filter((line) => !expected.some((pattern) => pattern.test(line))),
    check.output,
  ).toEqual([]);

  const before = new Map((await started('rpc-1')).split('\n').map((line) => [line.split(' ')[0], line]));
  const run = await runPlaybook('deploy', '--inventory', 'lab');
  expect(run.exitCode, run.output).toBe(0);
  for (const line of (await started('rpc-1')).split('\n')) {
    const [name] = line.split(' ');
    if (name === '/json-rpc') expect(line).not.toBe(before.get(name));
    else expect(line).toBe(before.get(name));
  }
  const again = await runPlaybook('deploy', '--inventory', 'lab', '--check');
  expect(again.exitCode, again.output).toBe(0);
});

test('--role runs that role alone, --limit that host alone', async () => {
  for (const host of labHosts) await onHost(host, 'ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime');
  await onHost('rpc-1', 'chmod 0600 /etc/docker/daemon.json');
  const run = await runPlaybook('deploy', '--inventory', 'lab', '--role', 'time-sync', '--limit', 'rpc-1');
  expect(run.exitCode, run.output).toBe(0);
  expect(named(run.output, 'changed')).toHaveLength(1);
  expect(Object.keys(summaryOf(run.output))).toEqual(['rpc-1']);
  expect(await onHost('rpc-1', 'readlink -f /etc/localtime')).toMatch(/UTC$/);
  expect(await onHost('rpc-2', 'readlink -f /etc/localtime')).toMatch(/Tokyo$/);
  expect(await onHost('rpc-1', 'stat -c %a /etc/docker/daemon.json')).toBe('600');
  const rest = await runPlaybook('deploy', '--inventory', 'lab', '--role', 'time-sync', '--role', 'docker');
  expect(rest.exitCode, rest.output).toBe(0);
});

test('a task that fails shows no password', async () => {
  const passwords = await labPasswords();
  await onHost('rpc-1', 'rm /opt/rpc-node/node.config.toml && mkdir /opt/rpc-node/node.config.toml');
  for (const form of [['--json'], ['--check'], []]) {
    const options = ['--inventory', 'lab', '--limit', 'rpc-1', '--verbose', '--diff', ...form];
    const run = await runPlaybook('deploy', ...options);
    expect([1, 2], run.output).toContain(run.exitCode);
    for (const password of passwords) expect(run.output).not.toContain(password);
  }
  await onHost('rpc-1', 'rmdir /opt/rpc-node/node.config.toml');
  const fixed = await runPlaybook('deploy', '--inventory', 'lab', '--limit', 'rpc-1');
  expect(fixed.exitCode, fixed.output).toBe(0);
});
