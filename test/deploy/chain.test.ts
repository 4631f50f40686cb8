import { afterAll, beforeAll, expect, test } from 'vitest';
import { answers } from '../../lab/reach.mjs';
import { labUp } from '../../lab/up.mjs';
import { deployedLab } from './deployed-lab.ts';
import { onHost, started, stateSql } from './lab-host.ts';
import { labInventoryWith } from './lab-inventory.ts';
import { runPlaybook } from './playbook.ts';

const deploy = (...args: readonly string[]) => runPlaybook('deploy', '--inventory', 'lab', ...args);

/** The lab's control interface of the trusted sequencer. */
async function sequencer(action: string): Promise<void> {
  const answer = await fetch(`http://172.30.77.10:8090/control/sequencer/${action}`, { method: 'POST' });
  expect(answer.status).toBe(204);
}

const fork = (from: number) => sequencer(`fork?from=${from}`);

/** The pool database of a host, as its superuser. */
const poolSql = (host: string, query: string) =>
  onHost(host, `echo "${query}" | docker exec -i pool-db psql -XqAtU pool_user -d pool_db`);

beforeAll(deployedLab);

afterAll(() => fork(0));

test('a sequencer and a layer 1 of another chain are refused before anything is changed', async () => {
  const inventory = await labInventoryWith({
    'vars.network.trusted_sequencer_url': 'http://172.30.77.10:8546',
    'vars.network.l1_rpc_url': 'http://172.30.77.10:8545',
  });
  const before = await started('db-1');
  const run = await runPlaybook('deploy', '--inventory', inventory, '--limit', 'db-1');
  expect(run.exitCode, run.output).toBe(1);
  expect(run.output).toContain(
    'http://172.30.77.10:8546 is of the chain with id 55555, and has to be of the one with id 686868',
  );
  expect(await started('db-1')).toBe(before);
});

test('a password that a database refuses is found before anything is changed, and is not shown', async () => {
  const password = await onHost(
    'rpc-1',
    `docker inspect -f '{{range .Config.Env}}{{println .}}{{end}}' pool-db`,
  );
  const [, own = ''] = /^POSTGRES_PASSWORD=(.*)$/m.exec(password) ?? [];
  // Components that run with the wanted configuration have logged in already.
  await onHost('rpc-1', 'docker rm -f json-rpc');
  await poolSql('rpc-1', "alter role pool_user password 'another-password'");
  const before = await started('rpc-1');
  const run = await deploy('--limit', 'rpc-1');
  await poolSql('rpc-1', `alter role pool_user password '${own}'`);
  expect(run.exitCode, run.output).toBe(1);
  expect(run.output).toContain(
    'pool database at 127.0.0.1:5433 refuses pool_user: password authentication failed for user "pool_user"',
  );
  expect(run.output).not.toContain(own);
  expect(await started('rpc-1')).toBe(before);
});

test('a layer 1 of another history stops sync before its start', async () => {
  await onHost('db-1', 'docker rm -f sync');
  await stateSql(`create table public.kept as select block_num, block_hash from state.block;
    update state.block set block_hash = '0x' || reverse(substr(block_hash, 3))`);
  const run = await deploy('--limit', 'db-1');
  await stateSql(`update state.block b set block_hash = k.block_hash from public.kept k where k.block_num = b.block_num;
    drop table public.kept`);
  expect(run.exitCode, run.output).toBe(1);
  expect(run.output).toMatch(
    /layer 1 has another history: block \d+ is 0x\w+ in the state database and 0x\w+ on http/,
  );
  expect(await onHost('db-1', 'docker ps -aq --filter name=sync')).toBe('');
  const again = await deploy('--limit', 'db-1');
  expect(again.exitCode, again.output).toBe(0);
});

test('a node on a fork does not pass, neither in check mode nor in a deploy', async () => {
  const newest = Number(await stateSql('select max(block_num) from state.l2block'));
  await fork(newest - 10);
  const words = /diverged from the trusted sequencer: block \d,\d{3} is 0x\w{8}… here and 0x\w{8}… there/;
  const limit = ['--limit', 'db-1,rpc-1'];
  for (const args of [['--check'], []]) {
    const run = await deploy(...limit, ...args);
    expect(run.exitCode, run.output).toBe(1);
    expect(run.output).toMatch(words);
  }
  await fork(0);
  await onHost('db-1', 'docker restart -t 2 sync');
  await expect
    .poll(async () => (await deploy(...limit)).exitCode, { timeout: 120_000, interval: 2000 })
    .toBe(0);
});

test('a listener that does not answer is named', async () => {
  await onHost('rpc-2', 'iptables -I INPUT -i lo -p tcp --dport 8133 -j REJECT');
  const run = await deploy('--check', '--limit', 'rpc-2');
  await onHost('rpc-2', 'iptables -D INPUT -i lo -p tcp --dport 8133 -j REJECT');
  expect(run.exitCode, run.output).toBe(1);
  expect(run.output).toContain('ws://localhost:8133 does not answer');
});

test('a sequencer that an interrupted test has stopped runs again when the lab is started', async () => {
  await sequencer('stop');
  await labUp({ log: console.error });
  expect(await answers('172.30.77.10', 8545)).toBe(true);
});
