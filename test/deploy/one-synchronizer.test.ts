import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { deployedLab } from './deployed-lab.ts';
import { onHost } from './lab-host.ts';
import { named, runPlaybook } from './playbook.ts';

const deploy = (...args: readonly string[]) => runPlaybook('deploy', '-i', 'lab', ...args);
const syncRuns = () => onHost('db-1', `docker ps --quiet --filter 'name=^sync$'`);

beforeAll(deployedLab);

test('a synchronizer on a server outside of the limit: none is started, and check mode reports it beforehand', async () => {
  await onHost('db-1', 'docker rm -f sync');
  await onHost(
    'rpc-1',
    'docker run --detach --name sync --entrypoint sleep $(docker inspect --format {{.Image}} pool-db) 600',
  );
  onTestFinished(async () => void (await onHost('rpc-1', 'docker rm -f sync 2>/dev/null || :')));
  for (const mode of [['--check'], []]) {
    const refused = await deploy('--limit', 'db-1', '--role', 'sync', ...mode);
    expect(refused.exitCode, refused.output).toBe(1);
    expect(refused.output).toContain(
      'no other synchronizer runs, and no json-rpc of another version: rpc-1: the container sync is running',
    );
    expect(named(refused.output, 'changed')).toEqual([]);
    expect(await syncRuns()).toBe('');
  }
  await onHost('rpc-1', 'docker rm -f sync');
  const next = await deploy('--limit', 'db-1', '--role', 'sync');
  expect(next.exitCode, next.output).toBe(0);
  expect(await syncRuns()).not.toBe('');
});
