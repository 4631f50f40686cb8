import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encrypt } from '../../../lib/engine/secret/age/age-file.ts';
import { onHost, stateSql } from '../../deploy/lab-host.ts';
import { runPlaybook, runPlaybookIn, startPlaybookIn } from '../../deploy/playbook.ts';
import { clientAddresses, type Seen, startLoad } from '../fleet-load.ts';
import { putLabFirst } from '../lab-first.ts';
import { measured } from '../measured.ts';

// The larger lab: inventory/lab-fleet.yaml, four RPC servers behind two gateways.

const root = fileURLToPath(new URL('../../..', import.meta.url));
const stores = ['state', 'pool', 'prover'] as const;
const rpc = ['rpc-1', 'rpc-2', 'rpc-3', 'rpc-4'] as const;
const passphrase = { RPC_PLAYBOOKS_PASSPHRASE: 'correct horse battery staple' };
const secretOf = (store: string) => join(root, `.lab/secrets/${store}_db_password`);

let folder: string;
let inventory: string;
let addresses: string[];
let removeAddresses: (() => Promise<void>) | undefined;

const secrets = (...words: string[]) =>
  runPlaybookIn(passphrase, 'secrets', '--inventory', inventory, ...words);
const deploying = (...words: string[]) =>
  startPlaybookIn(
    passphrase,
    'deploy',
    ...['--inventory', inventory, '--yes', '--set', 'gateway.drain_seconds=3', ...words],
  );

let letControllerBeFirst: (() => void) | undefined;

/** The usual lab, whose passwords are in the encrypted file of an inventory of its own. */
beforeAll(async () => {
  letControllerBeFirst = putLabFirst();
  const { exitCode, output } = await runPlaybook('deploy', '--inventory', 'lab-fleet', '--yes');
  expect(exitCode, output).toBe(0);
  ({ addresses, remove: removeAddresses } = await clientAddresses(100));
  folder = await mkdtemp(join(tmpdir(), 'rotation-'));
  inventory = join(folder, 'lab-fleet.yaml');
  const text = await readFile(join(root, 'inventory/lab-fleet.yaml'), 'utf8');
  const own = text
    .replaceAll(/file:\.\.\/\.lab\/secrets\/(\w+_db_password)/g, 'secret:$1')
    .replaceAll('../.lab/', join(root, '.lab/'));
  await writeFile(inventory, own);
  const lines = stores.map(
    async (store) => `${store}_db_password: ${(await readFile(secretOf(store), 'utf8')).trim()}\n`,
  );
  const encrypted = await encrypt((await Promise.all(lines)).join(''), {
    passphrase: passphrase.RPC_PLAYBOOKS_PASSPHRASE,
  });
  await writeFile(join(folder, 'lab-fleet.secrets.age'), encrypted, { mode: 0o600 });
});

afterAll(async () => {
  letControllerBeFirst?.();
  await removeAddresses?.();
  // The lab goes on with the passwords that its databases have.
  for (const store of stores) {
    const { exitCode, stdout } = await secrets('show', `${store}_db_password`, '--reveal');
    // Where the deploy before failed, there is no such file of passwords yet.
    if (exitCode === 0) await writeFile(secretOf(store), `${stdout.trim()}\n`, { mode: 0o600 });
  }
  if (folder) await rm(folder, { recursive: true });
});

const startsOf = (container: string, hosts: readonly string[]) =>
  Promise.all(
    hosts.map((host) =>
      onHost(host as 'db-1', `docker inspect --format '{{.State.StartedAt}}' ${container}`),
    ),
  );

const figures = (seen: Seen) =>
  `${seen.requests} requests, ${seen.failed.length} failed; at least ${seen.fewest} of 4 serve`;

test('all passwords are rotated under load: no request fails, one server is out at a time (two after a kill), no database restarts, and a killed run is ended by the next', async ({
  task,
}) => {
  const databases = async () => [
    ...(await startsOf('state-db', ['db-1'])),
    ...(await startsOf('pool-db', ['db-1', ...rpc])),
  ];
  expect((await deploying().ended).exitCode).toBe(0);
  const before = await databases();
  const rotated = await secrets('rotate');
  expect(rotated.exitCode, rotated.output).toBe(0);
  const load = startLoad({ addresses, rate: 50, webSockets: 0 });
  await sleep(5000);

  const first = deploying();
  const end = performance.now() + 300_000;
  while (!/rpc-2 .*json-rpc uses the second logins/.test(first.output())) {
    if (performance.now() > end) throw new Error(first.output());
    await sleep(200);
  }
  first.child.kill('SIGKILL');
  await first.ended;
  expect(load.seen.fewest, JSON.stringify([...load.seen.out])).toBe(3);
  const status = await runPlaybookIn(passphrase, 'status', '--inventory', inventory);
  expect(status.output).toContain('a rotation of passwords is half done');
  const limited = await deploying('--limit', 'rpc-1').ended;
  expect(limited.output).toContain('deploy all servers and roles: without --limit');

  const second = await deploying().ended;
  await sleep(3000);
  const seen = await load.end();
  measured(task, figures(seen));
  expect(second.exitCode, second.output).toBe(0);
  expect(second.output).toContain('every server uses the new passwords');
  expect(seen.failed.slice(0, 20)).toEqual([]);
  // The server that the killed run left out comes back in the last play, as it may not be well before
  // that. So in the plays before it, it is out beside the one whose turn it is.
  expect(seen.fewest, JSON.stringify([...seen.out])).toBeGreaterThanOrEqual(2);
  expect(await databases()).toEqual(before);

  expect((await secrets('rotate', '--done')).exitCode).toBe(0);
  const check = await deploying('--check').ended;
  expect(check.exitCode, check.output).toBe(0);
  const roles = await stateSql('select rolname from pg_roles');
  expect(roles).toContain('state_user');
  expect(roles).not.toContain('_next');
});
