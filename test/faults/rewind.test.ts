import { execFileSync } from 'node:child_process';
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { migrationsOf } from '../../lib/node/testing/migrations.ts';
import { runPlaybookIn } from '../deploy/playbook.ts';
import { installMissing } from '../install-missing.ts';
import { chainOf, fillState, serve, serveJson } from '../kinds/diverged-chains.ts';
import { startPostgres } from '../postgres.ts';
import { installForLightHosts, type LightHost, startLightHost } from './light-host.ts';
import { measured } from './measured.ts';
import { inAllForms } from './seed.ts';

// The playbook itself, over SSH, on hosts without Docker: a stand-in has its command line, and the
// state database is a real PostgreSQL 15 on this machine.

const killer = fileURLToPath(new URL('./long/kill-at-boundary.mjs', import.meta.url));

/** Of this machine, for its servers; light hosts reach it by their cable. */
const outside = `203.0.113.${1 + (process.pid % 250)}`;

/**
 * Docker's command line. A file for each container has when it was started, and `running` or
 * `exited`. sync, when it starts, copies the blocks of the trusted sequencer.
 */
const docker = String.raw`#!/bin/sh
box=/run/box
sql() { psql -Xq -h ${outside} -U state_user -d state_db -c "$1" >/dev/null; }
begin() {
  echo "running $(date -u +%Y-%m-%dT%H:%M:%S.%NZ)" >"$box/$1"
  echo "$1" >>/run/starts
  [ "$1" != sync ] || sql "insert into state.batch (batch_num) select n from generate_series(0, 14) n on conflict do nothing;
    insert into state.l2block (block_num, block_hash, received_at, created_at, batch_num)
    select n, case when n < 18 then '0xa' else '0xb' end || n, now(), now(), (n + 2) / 3
    from generate_series((select max(block_num) + 1 from state.l2block), 40) n"
}
for last; do :; done
case "$1 $2" in
  exec*)
    shift
    while :; do
      case $1 in -i) shift ;; -e) export "$2"; shift 2 ;; *) break ;; esac
    done
    shift
    PGHOST=${outside} exec "$@" ;;
  'container inspect')
    [ "$3" = -f ] || { printf '/%s\nrunning\n/bin/any\n' "$last"; exit; }
    shift 4
    for name; do
      [ -e "$box/$name" ] || continue
      read -r status started <"$box/$name"
      running=false; [ "$status" = exited ] || running=true
      printf '{"Id":"%s0","Name":"/%s","Image":"i","RestartCount":0,"State":{"Running":%s,"Status":"%s","ExitCode":0,"StartedAt":"%s"},"Config":{"Image":"i","Labels":{}},"HostConfig":{"CpuShares":0},"NetworkSettings":{"Networks":{}}}\n' \
        "$name" "$name" "$running" "$status" "$started"
    done ;;
  'inspect --format') pgrep -o -f TCP-LISTEN:8123 ;;
  ps*) cd "$box" && grep -l running -- * ;;
  stop*) sed -i s/running/exited/ "$box/$last" ;;
  start* | restart*) begin "$last" ;;
esac
exit 0`;

/** A light host with some containers that run. */
async function hostWith(name: string, containers: readonly string[], more: string): Promise<LightHost> {
  const host = await startLightHost(name, {
    setUp: `cat >/usr/local/bin/docker <<'END'\n${docker}\nEND
      chmod 755 /usr/local/bin/docker
      mkdir /run/box
      for each in ${containers.join(' ')}; do echo 'running 2026-01-01T00:00:00Z' >/run/box/$each; done
      ip route add ${outside}/32 dev eth0
      ${more}`,
  });
  onTestFinished(() => host.stop());
  return host;
}

/** Ports of a light host that lead to servers of this machine. */
const leads = (address: string, port: number, to: number) =>
  `ip addr add ${address}/32 dev lo 2>/dev/null || :
   setsid socat TCP-LISTEN:${port},bind=${address},reuseaddr,fork TCP:${outside}:${to} >/dev/null 2>&1 &`;

/** The state database, the chains, and json-rpc, which reads the database. */
async function startServers() {
  execFileSync('ip', ['addr', 'replace', `${outside}/32`, 'dev', 'lo']);
  onTestFinished(() => void execFileSync('ip', ['addr', 'del', `${outside}/32`, 'dev', 'lo']));
  const postgres = await startPostgres('/var/tmp', { fsync: 'off', listen_addresses: outside });
  onTestFinished(() => postgres.stop());
  appendFileSync(postgres.sql('postgres', 'show hba_file'), 'host all all 0.0.0.0/0 trust\n');
  postgres.sql('postgres', 'select pg_reload_conf()');
  fillState(postgres, migrationsOf['v3.1.0'].state);
  const [sequencer, layer1] = [chainOf(686_868, 40, 18), chainOf(55_555, 1400, 9999)];
  const jsonRpc = await serveJson(outside, (_, [block]) => {
    const where = block === 'latest' ? 'true' : `block_num = ${Number(block)}`;
    const [number, hash] = postgres
      .sql(
        'state_db',
        `select block_num, block_hash from state.l2block where ${where} order by 1 desc limit 1`,
      )
      .split('|');
    return number ? { number: `0x${Number(number).toString(16)}`, hash, timestamp: '0x66000000' } : null;
  });
  const servers = [jsonRpc, await serve(sequencer, outside), await serve(layer1, outside)];
  onTestFinished(() => {
    for (const server of servers) server.close();
  });
  return { postgres, sequencer, layer1, jsonRpc: (jsonRpc.address() as AddressInfo).port };
}

/** A gateway whose HAProxy is a stand-in: it sends nobody to a drained server. */
const gatewayParts = `mkdir -p /usr/local/lib/rpc-node /var/lib/haproxy/drained
  cat >/usr/local/lib/rpc-node/gateway.sh <<'END'
${readFileSync(fileURLToPath(new URL('../../templates/host/gateway.sh', import.meta.url)), 'utf8')}
END
  cat >/usr/local/lib/rpc-node/gateway <<'END'
#!/bin/sh
echo "$1 $2" >>/run/turns
exec sh /usr/local/lib/rpc-node/gateway.sh "$@"
END
  cat >/usr/local/lib/rpc-node/fleet <<'END'
#!/bin/sh
while IFS= read -r line && [ "\${#line}" -gt 1 ]; do :; done
serves=true
[ ! -e /var/lib/haproxy/drained/rpc-1 ] || serves=false
printf 'HTTP/1.0 200 OK\r\n\r\n{"judged":true,"configuration":"","hosts":[{"host":"rpc-1","serves":%s,"fit":true,"reason":"drained","drained":null,"sessions":0}]}' $serves
END
  chmod 755 /usr/local/lib/rpc-node/*
  setsid socat TCP-LISTEN:9101,bind=127.0.0.1,reuseaddr,fork EXEC:/usr/local/lib/rpc-node/fleet >/dev/null 2>&1 &`;

async function startEverything({ hasGateway = false } = {}) {
  installForLightHosts();
  installMissing([['/usr/bin/socat', 'socat']]);
  const { postgres, sequencer, layer1, jsonRpc } = await startServers();
  const database = await hostWith('db-1', ['state-db', 'prover', 'pool-db', 'sync'], '');
  const rpc = await hostWith(
    'rpc-1',
    ['prover', 'pool-db', 'json-rpc'],
    leads(database.address, 5432, 5432) + leads('127.0.0.1', 8123, jsonRpc),
  );
  const memberOf = ({ address, hostKey, clientKey }: LightHost) => ({
    address,
    user: 'root',
    host_key: hostKey,
    identity_file: clientKey,
  });
  const gateway = hasGateway ? await hostWith('gw-1', [], gatewayParts) : undefined;
  const file = await labDeployment([
    ...(gateway ? [[['groups', 'gateway'], { 'gw-1': memberOf(gateway) }] as const] : []),
    [['groups', 'database'], { 'db-1': { ...memberOf(database), region: 'lab-1' } }],
    [['groups', 'rpc'], { 'rpc-1': memberOf(rpc) }],
    [['vars', 'network', 'trusted_sequencer_url'], sequencer.url],
    [['vars', 'network', 'l1_rpc_url'], layer1.url],
  ]);
  const inventory = join(dirname(file), 'rewound.yaml');
  renameSync(file, inventory);
  const run = (environment: Readonly<Record<string, string>>, ...args: readonly string[]) =>
    // The program of the node, which knows its migrations, is not here.
    runPlaybookIn(environment, 'rewind', '-i', inventory, '--skip-role', 'known-migrations', ...args);
  return { postgres, sequencer, database, rpc, gateway, run };
}

const title = 'refused, planned, killed at every boundary, and done: never half of it, and sync starts once';
inAllForms(title, async ({ task }) => {
  const { postgres, database, rpc, run } = await startEverything();
  const sql = (query: string) => postgres.sql('state_db', query);
  const blocks = () => sql("select string_agg(block_hash, ' ' order by block_num) from state.l2block");
  const before = blocks();

  const unasked = await run({}, '--yes');
  expect(unasked.exitCode, unasked.output).toBe(1);
  expect(unasked.output).toContain('the rewind to block 15 has no way back');
  const wrong = await run({}, '--yes', '--to', '16');
  expect(wrong.exitCode, wrong.output).toBe(1);
  expect(wrong.output).toContain('--to 16 is not the block at which the rewind ends: that is 15');
  const plan = await run({}, '--check', '--diff', '--to', '15');
  expect(plan.exitCode, plan.output).toBe(2);
  for (const words of [
    'docker stop --time 120 sync',
    '15 blocks, in batches 6 to 10',
    'delete from state.batch where batch_num > 5',
  ])
    expect(plan.output).toContain(words);
  expect(plan.output).toMatch(/rpc-1 +unknown +rewind: json-rpc has been started since the rewind/);

  database.run('touch /run/starts');
  rpc.run("touch /run/starts; echo 'running 2026-01-01T00:00:00Z' >/run/box/sync");
  const beside = await run({}, '--yes', '--to', '15');
  expect(beside.exitCode, beside.output).toBe(1);
  expect(beside.output).toContain('the container sync is running');
  rpc.run('rm /run/box/sync');
  expect([blocks(), database.run('cat /run/box/sync')]).toEqual([before, 'running 2026-01-01T00:00:00Z\n']);

  const killed = join(temporaryDirectory(), 'killed');
  writeFileSync(killed, '');
  const left = Array.from({ length: 16 }, (_, at) => `0xa${at}`).join(' ');
  const right = Array.from({ length: 41 }, (_, at) => `0x${at < 18 ? 'a' : 'b'}${at}`).join(' ');
  let runs = 0;
  for (;;) {
    const going = await run(
      { NODE_OPTIONS: `--import ${killer}`, KILLED: killed },
      '--json',
      '--yes',
      '--to',
      '15',
    );
    if (going.exitCode === 0) break;
    expect(going.exitCode, going.output).toBe(null);
    runs += 1;
    expect([before, left, right]).toContain(blocks());
  }
  const boundaries = readFileSync(killed, 'utf8').trim().split('\n');
  measured(task, `${runs} runs killed`);
  expect(runs).toBeGreaterThan(9);
  for (const change of ['sync does not run', 'the blocks of the state database', 'sync runs again'])
    expect(boundaries.filter((line) => line.includes(change)).length, change).toBe(3);
  expect(blocks()).toBe(right);
  expect(sql('select reason from state.trusted_reorg')).toBe('rpc-node: rewound to block 15');
  expect(database.run('cat /run/starts')).toBe('sync\n');
  expect(rpc.run('sort -u /run/starts')).toBe('json-rpc\n');

  const again = await run({}, '--yes');
  expect(again.exitCode, again.output).toBe(0);
  expect(database.run('cat /run/starts')).toBe('sync\n');
});

test('killed after the stop, a run that finds the chains agreeing starts sync, once', async () => {
  const { sequencer, database, run } = await startEverything();
  database.run('touch /run/starts');
  const killed = join(temporaryDirectory(), 'killed');
  const change = 'db-1 rewind: sync does not run during the rewind';
  const earlier = ['before', 'during'].map((boundary) => `${JSON.stringify([boundary, change])}\n`);
  writeFileSync(killed, earlier.join(''));
  const environment = { NODE_OPTIONS: `--import ${killer}`, KILLED: killed };
  const going = await run(environment, '--json', '--yes', '--to', '15');
  expect(going.exitCode, going.output).toBe(null);
  expect(readFileSync(killed, 'utf8')).toBe(`${earlier.join('')}${JSON.stringify(['after', change])}\n`);
  const states = () => database.run('cut -d " " -f 1 /run/box/sync; cat /run/starts');
  expect(states()).toBe('exited\n');

  // Up to the newest block here; sync copies the later ones.
  sequencer.parts = 31;
  for (let runs = 0; runs < 2; runs += 1) {
    const { exitCode, output } = await run({}, '--yes');
    expect(exitCode, output).toBe(0);
    expect(states()).toBe('running\nsync\n');
  }
  // What an operator stops stays stopped.
  database.run('sed -i s/running/exited/ /run/box/sync');
  const { exitCode, output } = await run({}, '--yes');
  expect(exitCode, output).toBe(0);
  expect(states()).toBe('exited\nsync\n');
});

test('behind a gateway json-rpc is restarted in its turn', async () => {
  const { postgres, rpc, gateway, run } = await startEverything({ hasGateway: true });
  const { exitCode, output } = await run({}, '--yes', '--to', '15');
  expect(exitCode, output).toBe(0);
  const order = [
    'leaves the gateways',
    'json-rpc has been started since the rewind',
    'comes back to the gateways',
  ];
  const lines = output.split('\n').filter((line) => line.startsWith('rpc-1  changed'));
  expect(lines.map((line) => order.findIndex((words) => line.includes(words)))).toEqual([0, 1, 2]);
  expect(gateway?.run('cat /run/turns')).toBe('drain rpc-1\nundrain rpc-1\n');
  expect(rpc.run('cat /run/starts')).toBe('json-rpc\n');
  expect(postgres.sql('state_db', 'select max(block_num) from state.l2block')).toBe('40');
});
