import { beforeAll, describe, expect, test } from 'vitest';
import { labUp } from '../../lab/up.mjs';
import { blockNumber, onHost, started, stateSql } from './lab-host.ts';
import { labInventoryWith } from './lab-inventory.ts';
import { runPlaybook, startPlaybook } from './playbook.ts';

const host = 'rpc-1';
const config = '/opt/rpc-node/node.config.toml';
const releases = '/var/lib/rpc-node/releases';
const journal = '/var/lib/rpc-playbooks/journal.jsonl';
const limited = (inventory = 'lab') => ['--inventory', inventory, '--limit', host] as const;
const limitedTo = (requests: number) =>
  labInventoryWith({ 'vars.node_config': { RPC: { MaxRequestsPerIPAndSecond: requests } } });

const hashes = () => onHost(host, `sha256sum /opt/rpc-node/*.* | sort -k 2`);
const current = async () => Number(await onHost(host, `readlink ${releases}/current`));
const rollback = (...args: readonly string[]) => runPlaybook('rollback', ...limited(), '--yes', ...args);

interface History {
  readonly runs: readonly {
    readonly playbook: string;
    readonly who: string;
    readonly commit: string;
    readonly hosts: readonly {
      readonly host: string;
      readonly plan: string;
      readonly end?: {
        readonly ended: string;
        readonly changed: readonly string[];
        readonly failed: readonly string[];
      };
    }[];
  }[];
  readonly releases: readonly {
    readonly host: string;
    readonly number: number;
    readonly isCurrent: boolean;
  }[];
}
const history = async () =>
  JSON.parse((await runPlaybook('history', ...limited(), '--json')).stdout) as History;

let before: { readonly files: string; readonly release: number };
/** The release of the changed setting. */
let made: number;

beforeAll(async () => {
  await labUp({ log: console.error });
  const run = await runPlaybook('deploy', '--inventory', 'lab', '--yes');
  expect(run.exitCode, run.output).toBe(0);
  before = { files: await hashes(), release: await current() };
});

describe('The history of a host, and rollbacks', () => {
  test('a change is in the history of its host, and makes a release', async () => {
    const run = await runPlaybook('deploy', ...limited(await limitedTo(7000)), '--yes');
    expect(run.exitCode, run.output).toBe(0);
    expect(await hashes()).not.toBe(before.files);
    const { runs, releases: kept } = await history();
    expect(runs[0]).toMatchObject({
      playbook: 'deploy',
      who: expect.stringContaining('@'),
      commit: expect.stringMatching(/^[0-9a-f]{12}(-dirty)?$/),
      hosts: [
        { host, plan: expect.stringMatching(/^[0-9a-f]{16}$/), end: { ended: 'converged', failed: [] } },
      ],
    });
    expect(runs[0]?.hosts[0]?.end?.changed).toEqual(
      expect.arrayContaining([`file ${config}`, 'what is deployed is kept as a release']),
    );
    made = await current();
    expect(made).not.toBe(before.release);
    expect(kept.find(({ isCurrent }) => isCurrent)?.number).toBe(made);
    expect(await onHost(host, `find ${releases} -not -type l -perm /077`)).toBe('');
  });

  test('a run that changes nothing writes nothing', async () => {
    const was = await onHost(host, `sha256sum ${journal}; find ${releases} -printf '%p %T@\n' | sort`);
    const run = await runPlaybook('deploy', ...limited(await limitedTo(7000)), '--json');
    expect(run.exitCode, run.output).toBe(0);
    expect(run.stdout).toContain('"roundTrips":2');
    expect(await onHost(host, `sha256sum ${journal}; find ${releases} -printf '%p %T@\n' | sort`)).toBe(was);
  });

  test('a rollback puts files and container back, and a second one to the same release changes nothing', async () => {
    const containers = await started(host);
    const check = await runPlaybook('rollback', ...limited(), '--check');
    expect(check.exitCode, check.output).toBe(2);
    expect(await current()).toBe(made);
    // Another test may have kept a release in between.
    const run = await rollback('--to', String(before.release));
    expect(run.exitCode, run.output).toBe(0);
    expect(await hashes()).toBe(before.files);
    expect(await started(host)).not.toBe(containers);
    expect(await blockNumber(host)).toBeGreaterThan(0);
    expect(await current()).toBe(before.release);
    expect((await history()).runs[0]).toMatchObject({
      playbook: 'rollback',
      hosts: [{ host, end: { ended: 'converged' } }],
    });
    const again = await rollback('--to', String(before.release));
    expect(again.exitCode, again.output).toBe(0);
    expect(again.output).toMatch(new RegExp(`${host} +\\d+ +0 `));
  });

  test("a container gets its release's image, also where the name means another one by now", async () => {
    const of = (format: string) => onHost(host, `docker container inspect -f '{{${format}}}' prover`);
    const [name, id] = [await of('.Config.Image'), await of('.Image')];
    await onHost(host, `docker rm -f prover; docker tag $(docker inspect -f '{{.Image}}' json-rpc) ${name}`);
    const run = await rollback('--to', String(before.release));
    expect(run.exitCode, run.output).toBe(0);
    expect([await of('.Config.Image'), await of('.Image')]).toEqual([name, id]);
  });

  test('a rollback that fails is reported as failed, and its release is not the current one', async () => {
    await onHost(host, 'iptables -I INPUT -i lo -p tcp --dport 8123 -j REJECT');
    const run = await rollback('--to', String(made), '--set', 'verify.attempts=2');
    await onHost(host, 'iptables -D INPUT -i lo -p tcp --dport 8123 -j REJECT');
    expect(run.exitCode, run.output).toBe(1);
    expect(await current()).toBe(before.release);
    const [newest] = (await history()).runs;
    expect(newest).toMatchObject({ playbook: 'rollback', hosts: [{ host, end: { ended: 'failed' } }] });
    // What is deployed is no release now, so the newest good one is put back.
    const back = await rollback();
    expect(back.exitCode, back.output).toBe(0);
    expect(await hashes()).toBe(before.files);
  });

  test('a release that is not as it was kept is refused, and nothing is touched', async () => {
    const file = `${releases}/${made}/files/node.config.toml`;
    const [containers, files] = [await started(host), await hashes()];
    await onHost(host, `cp -p ${file} /root/kept && echo >> ${file}`);
    const run = await rollback('--to', String(made));
    await onHost(host, `mv /root/kept ${file}`);
    expect(run.exitCode, run.output).toBe(1);
    expect(run.output).toContain(`release ${made} is damaged`);
    expect([await started(host), await hashes()]).toEqual([containers, files]);
  });

  test('a rollback over a database migration is refused on all hosts, with the reason', async () => {
    await stateSql(`insert into public.gorp_migrations values ('9999.sql', now())`);
    const run = await runPlaybook(
      'rollback',
      '--inventory',
      'lab',
      '--limit',
      `db-1,${host}`,
      '--yes',
      '--to',
      '1',
    );
    await stateSql(`delete from public.gorp_migrations where id = '9999.sql'`);
    expect(run.exitCode, run.output).toBe(1);
    expect(run.output).toMatch(
      /a database migration lies in between: the state database has \d+, and release 1 of db-1/,
    );
    expect(run.output).toContain('stopped on all hosts');
    expect(await hashes()).toBe(before.files);
  });

  test('a run that was killed is in the history as interrupted or killed', async () => {
    const run = startPlaybook('deploy', ...limited(await limitedTo(8000)), '--yes', '--json', '--break-lock');
    await expect
      .poll(run.output, { timeout: 60_000 })
      .toContain('"resource":"json-rpc is running with its configuration"');
    run.child.kill('SIGKILL');
    await run.ended;
    const { stdout } = await runPlaybook('history', ...limited(), '--last', '1');
    expect(stdout).toMatch(
      /deploy of lab-changed by \S+, commit \w+(-dirty)?\n {4}rpc-1 {2}interrupted or killed/,
    );
    const again = await runPlaybook('deploy', '--inventory', 'lab', '--yes');
    expect(again.exitCode, again.output).toBe(0);
    expect(await hashes()).toBe(before.files);
  });
});
