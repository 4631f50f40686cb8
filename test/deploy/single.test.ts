import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { blockNumber, files, labHosts, onHost, rpc, started, stateSql } from './lab-host.ts';
import { named, runPlaybook, summaryOf } from './playbook.ts';

beforeAll(async () => {
  await labUp({ log: console.error });
  await resetHosts(['db-1']);
});

// It is the Database+Sync server of the lab's other tests. The RPC servers wait for its database,
// and a restore is refused while somebody uses it.
afterAll(() => resetHosts([...labHosts]));

describe('One server with all components', () => {
  test('check mode on the bare server has the components of both groups, each once', async () => {
    const check = await runPlaybook('deploy', '-i', 'lab-single', '--check');
    expect(check.exitCode, check.output).toBe(2);
    const planned = [...named(check.output, 'pending'), ...named(check.output, 'unknown')];
    for (const service of ['state-db', 'pool-db', 'prover', 'sync', 'json-rpc']) {
      const running = `db-1 ${service}: ${service} is running with its configuration`;
      expect(
        planned.filter((each) => each === running),
        check.output,
      ).toHaveLength(1);
    }
  });

  test('one server is deployed with all components, on the ports of the specification', async () => {
    const run = await runPlaybook('deploy', '-i', 'lab-single', '--yes');
    expect(run.exitCode, run.output).toBe(0);
    const containers = await onHost('db-1', `docker ps --format '{{.Names}}' | sort`);
    expect(containers.split('\n')).toEqual(['json-rpc', 'pool-db', 'prover', 'state-db', 'sync']);
    const published = await onHost(
      'db-1',
      `docker ps -q | xargs docker inspect --format '{{range $inside, $on := .NetworkSettings.Ports}}{{range $on}}{{.HostPort}}
{{end}}{{end}}' | sort -nu | xargs`,
    );
    expect(published).toBe('5432 5433 8123 8133 9091 9092 50061 50071');
  });

  test('the snapshot was restored by the tool in the image of the node', async () => {
    expect(await onHost('db-1', 'cat /data/snapshot/restore.log')).toContain('"version":"v3.1.0"');
    expect(await onHost('db-1', 'ls /data/snapshot; command -v go || true')).not.toMatch(
      /^(source|tool)$|\/go$/m,
    );
  });

  test('json-rpc serves the blocks that the synchronizer of the same server writes', async () => {
    const first = await blockNumber('db-1');
    const block = (await rpc('db-1', 'eth_getBlockByNumber', [`0x${first.toString(16)}`, false])) as {
      hash: string;
    };
    expect(block.hash).toBe(
      await stateSql(`select block_hash from state.l2block where block_num = ${first}`),
    );
    await expect.poll(() => blockNumber('db-1'), { timeout: 60_000, interval: 1000 }).toBeGreaterThan(first);
  });

  test('a second run changes nothing, and the server is healthy', async () => {
    const seen = () => Promise.all([started('db-1'), files('db-1')]);
    const before = await seen();
    const run = await runPlaybook('deploy', '-i', 'lab-single', '--yes');
    expect(run.exitCode, run.output).toBe(0);
    expect(summaryOf(run.output)['db-1']).toMatchObject({ changed: '0', failed: '0' });
    expect(await seen()).toEqual(before);
    const status = await runPlaybook('status', '-i', 'lab-single');
    expect(status.exitCode, status.output).toBe(0);
  });

  test.each([
    ['json-rpc', /json-rpc: .*(no answer|timed out|time)/],
    ['state-db', /state-db: .*timeout expired/],
  ])('status sees a program that does not answer: %s', async (container, words) => {
    // Its container runs on, and the port stays open.
    const signal = (name: string) =>
      onHost('db-1', `kill -${name} $(docker inspect --format '{{.State.Pid}}' ${container})`);
    await signal('STOP');
    try {
      const status = await runPlaybook('status', '-i', 'lab-single');
      expect(status.exitCode, status.output).toBe(1);
      expect(status.output).toMatch(words);
    } finally {
      await signal('CONT');
    }
  });

  test('status sees a Docker engine that hangs', async () => {
    await onHost('db-1', 'kill -STOP $(pidof dockerd)');
    try {
      const status = await runPlaybook('status', '-i', 'lab-single');
      expect(status.exitCode, status.output).toBe(1);
      expect(status.output).toContain(
        'docker: the engine runs and does not answer: see journalctl --unit docker.service',
      );
    } finally {
      await onHost('db-1', 'kill -CONT $(pidof dockerd)');
    }
  });
});
