import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { outside } from '../../../lab/layout.mjs';
import { resetHosts } from '../../../lab/reset.mjs';
import { labUp } from '../../../lab/up.mjs';
import { recordsIn } from '../../../lib/engine/report/record.ts';
import { recordFolder } from '../../../lib/node/project/project-folder.ts';
import { labHosts, onHost, stateIndexes, stateSql } from '../../deploy/lab-host.ts';
import { labInventoryWith } from '../../deploy/lab-inventory.ts';
import { type Ended, runPlaybook, startPlaybook } from '../../deploy/playbook.ts';
import { type ArchiveServer, type Behaviour, startArchiveServer } from './archive-server.ts';

const names = { state: 'testnet_state_db.sql.tar.gz', prover: 'testnet_prover_db.sql.tar.gz' } as const;

/** Both archives of a snapshot. */
export interface Archives {
  readonly state: Buffer;
  readonly prover: Buffer;
}

export let good: Archives;
let server: ArchiveServer;

/** Bare hosts, except a database host with everything that a snapshot needs. */
export async function prepare(): Promise<void> {
  await labUp({ log: console.error });
  await resetHosts([...labHosts]);
  server = await startArchiveServer();
  const fetched = async (name: string) =>
    Buffer.from(await (await fetch(`http://${outside.address}:${outside.ports.http}/${name}`)).arrayBuffer());
  good = { state: await fetched(names.state), prover: await fetched(names.prover) };
  // Everything that a snapshot needs.
  const later = ['snapshot', 'prover', 'pool-db', 'sync', 'release'].flatMap((role) => ['--skip-role', role]);
  const run = await runPlaybook('deploy', '-i', 'lab', '--limit', 'db-1', ...later);
  expect(run.exitCode, run.output).toBe(0);
}

/** Bare hosts for the next tests. */
export async function cleanUp(): Promise<void> {
  await server.stop();
  await resetHosts([...labHosts]);
}

/** Empty databases and no archives, as before the first restore. */
export async function emptied(): Promise<void> {
  await onHost(
    'db-1',
    `rm -rf /data/filler
     systemctl stop 'rpc-playbooks-download-*' rpc-node-restore 2>/dev/null || true
     systemctl unset-environment STANDIN_RESTORE_SKIPS_HASH_DB
     docker rm -f sync prover pool-db rpc-node-restore >/dev/null 2>&1 || true
     until docker exec state-db pg_isready -h 127.0.0.1 -q; do sleep 0.2; done
     for database in state_db prover_db; do
       docker exec -i state-db psql -XqU state_user -d $database -c 'drop schema if exists state cascade' \\
         -c 'drop table if exists public.gorp_migrations' -c "comment on database $database is null" 2>/dev/null
     done
     rm -f /data/snapshot/testnet_*`,
  );
}

/** A deployment and its conditions. */
export interface Run {
  readonly archives?: Partial<Archives>;
  /** The archives that the inventory describes, if they differ. */
  readonly declared?: Partial<Archives>;
  readonly behaviour?: Behaviour;
  /** How they are restored; by default as in the lab. */
  readonly restoreWith?: 'pg_restore';
}

/** Starts a deployment of the database host with these archives. */
export async function start({ archives, declared, behaviour, restoreWith }: Run, ...more: readonly string[]) {
  const served = { ...good, ...archives };
  server.serve({ [names.state]: served.state, [names.prover]: served.prover }, behaviour);
  const said = { ...served, ...declared };
  const source = (store: 'state' | 'prover') => ({
    url: server.url(names[store]),
    sha256: createHash('sha256').update(said[store]).digest('hex'),
  });
  const inventory = await labInventoryWith({
    'vars.snapshot.state': source('state'),
    'vars.snapshot.prover': source('prover'),
    ...(restoreWith && { 'vars.snapshot.restore_with': restoreWith }),
  });
  return startPlaybook('deploy', '-i', inventory, '--limit', 'db-1', ...more);
}

export async function deploy(run: Run, ...more: readonly string[]): Promise<Ended> {
  return (await start(run, ...more)).ended;
}

/** The next run, without the cause, restores both databases completely. */
export async function succeeds(run: Run = {}): Promise<void> {
  const next = await deploy(run, '--role', 'snapshot');
  expect(next.exitCode, next.output).toBe(0);
  expect(await stateSql('select count(*) from state.l2block')).toBe('4001');
  expect(
    await onHost(
      'db-1',
      `docker exec state-db psql -XAtU state_user -d prover_db -c 'select count(*) from state.nodes'`,
    ),
  ).toBe('30000');
  expect((await stateIndexes()).length).toBeGreaterThan(10);
}

/** Waits until a host's unit of long work runs. */
export async function running(unit: string): Promise<void> {
  await expect
    .poll(() => onHost('db-1', `systemctl is-active ${unit} || true`), { timeout: 120_000, interval: 20 })
    .toBe('active');
}

/** Waits until the current run has started this task. */
export async function comesTo(task: string): Promise<void> {
  const started = () => {
    const lines = readFileSync(recordsIn(recordFolder)[0]?.path ?? '', 'utf8').split('\n');
    return lines.some((line) => line.includes('"resource-started"') && line.includes(JSON.stringify(task)));
  };
  await expect.poll(started, { timeout: 120_000, interval: 20 }).toBe(true);
}
