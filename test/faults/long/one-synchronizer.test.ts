import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { $ } from 'zx';
import { imageOf } from '../../../lab/images.mjs';
import { network, stateDirectory } from '../../../lab/layout.mjs';
import { labUp } from '../../../lab/up.mjs';
import { onHost } from '../../deploy/lab-host.ts';
import { labInventoryWith } from '../../deploy/lab-inventory.ts';
import { named, runPlaybook } from '../../deploy/playbook.ts';

const run = $({ quiet: true });
const deploy = (...args: readonly string[]) => runPlaybook('deploy', '-i', 'lab', ...args);
const withoutSync = () => onHost('db-1', 'docker rm -f sync 2>/dev/null');
const containers = () => onHost('db-1', `docker ps --format '{{.Names}}'`);

beforeAll(async () => {
  await labUp({ log: console.error });
  const first = await deploy();
  expect(first.exitCode, first.output).toBe(0);
});

describe('there is one synchronizer', () => {
  test('three runs that begin in the same moment: one deploys, the others say who is at work', async () => {
    for (let round = 0; round < 3; round += 1) {
      await withoutSync();
      const runs = await Promise.all([deploy(), deploy(), deploy()]);
      const output = runs.map((each) => each.output).join('\n');
      expect(runs.map(({ exitCode }) => exitCode).toSorted(), output).toEqual([0, 5, 5]);
      for (const locked of runs.filter(({ exitCode }) => exitCode === 5)) {
        expect(locked.output).toMatch(/is locked by \S+@\S+ \(process \d+\), which runs deploy on lab since 20/);
        expect(named(locked.output, 'changed')).toEqual([]);
      }
      expect((await containers()).match(/^sync$/gm)).toHaveLength(1);
    }
  });

  test('another host becomes the Database+Sync server while the old one still synchronizes: refused, nothing changed', async () => {
    const inventory = await labInventoryWith({
      'groups.database': { 'rpc-2': { address: '172.30.77.13', user: 'operator', region: 'lab-1' } },
      'groups.rpc': { 'rpc-1': { address: '172.30.77.12' }, 'db-1': { address: '172.30.77.11' } },
    });
    const refused = await runPlaybook('deploy', '-i', inventory);
    expect(refused.exitCode, refused.output).toBe(1);
    expect(refused.output).toMatch(/db-1\s+failed\s+one-synchronizer: no synchronizer runs on an RPC server/);
    expect(named(refused.output, 'changed')).toEqual([]);
    expect(await containers()).toMatch(/^sync$/m);
    const back = await deploy();
    expect(back.exitCode, back.output).toBe(0);
  });

  test('a node elsewhere uses the state database: refused, no synchronizer is started beside it', async () => {
    // Otherwise it would not get as far as the database.
    const inventory = await labInventoryWith({ 'vars.firewall.internal': ['172.30.77.100'] });
    const opened = await runPlaybook('deploy', '-i', inventory, '--role', 'firewall');
    expect(opened.exitCode, opened.output).toBe(0);
    await withoutSync();
    const password = readFileSync(join(stateDirectory, 'secrets/state_db_password'), 'utf8').trim();
    // As the node does: by TCP, as its user, with no name of an application.
    const foreign = run({
      input: `set application_name = '';\nselect 1;\n\\watch 1\n`,
    })`docker run --rm --interactive --name foreign-node --network ${network.name} --ip 172.30.77.100 \
      --env ${`PGPASSWORD=${password}`} --entrypoint psql ${imageOf('postgres')} \
      --host 172.30.77.11 --username state_user state_db`.nothrow();
    onTestFinished(async () => {
      await run`docker rm -f foreign-node`.nothrow();
      await foreign;
    });
    await expect
      .poll(
        () =>
          onHost(
            'db-1',
            `docker exec state-db psql -XAtU state_user -d state_db -c "select client_addr from pg_stat_activity where application_name = ''"`,
          ),
        { timeout: 30_000 },
      )
      .toContain('172.30.77.100');
    const refused = await runPlaybook('deploy', '-i', inventory);
    expect(refused.exitCode, refused.output).toBe(1);
    expect(refused.output).toMatch(
      /a node on 172\.30\.77\.100 is connected to it, and that is no host of this inventory/,
    );
    expect(await containers()).not.toMatch(/^sync$/m);
    await run`docker rm -f foreign-node`;
    const next = await deploy();
    expect(next.exitCode, next.output).toBe(0);
    expect(await containers()).toMatch(/^sync$/m);
  });
});
