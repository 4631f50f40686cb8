import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { resetHosts } from '../../lab/reset.mjs';
import { labUp } from '../../lab/up.mjs';
import { labHosts, onHost, stateSql } from './lab-host.ts';
import { folderForTest, labInventoryWith } from './lab-inventory.ts';
import { type Ended, runPlaybook } from './playbook.ts';

// On the lab rpc-2 is a replica here, becomes the Database+Sync server, and db-1 its replica; and
// back.

export const address = { 'db-1': '172.30.77.11', 'rpc-2': '172.30.77.13' } as const;
export type Server = keyof typeof address;
const user = { 'db-1': 'root', 'rpc-2': 'operator' } as const;
const of = (server: Server) => ({ [server]: { address: address[server], user: user[server] } });
export const other = (server: Server): Server => (server === 'db-1' ? 'rpc-2' : 'db-1');
let password: string;

/**
 * The inventory with one of the two as the Database+Sync server, and the other one as its replica.
 */
export const servedBy = (server: Server, more: Readonly<Record<string, unknown>> = {}) =>
  labInventoryWith({
    'groups.rpc.rpc-2': undefined,
    ...more,
    'groups.database': of(server),
    'groups.replica': of(other(server)),
    'vars.replica': { password: `file:${password}` },
  });

/** For the tests of a file: db-1 serves, rpc-2 is its replica. */
export function deployWithReplica(): void {
  beforeAll(async () => {
    password = join(await folderForTest(), 'password');
    await writeFile(password, `${randomBytes(12).toString('hex')}\n`, { mode: 0o600 });
    await labUp({ log: console.error });
    await resetHosts([...labHosts]);
    expectConverged(await runPlaybook('deploy', '--inventory', await servedBy('db-1'), '--yes'));
    // As a recovery leaves them.
    await stateSql("alter system set restore_command = 'false'");
    await stateSql("alter system set recovery_target_timeline = '1'");
  });

  // Other tests must not meet two database servers.
  afterAll(() => resetHosts([...labHosts]));
}

export const switchTo = async (server: Server, ...args: readonly string[]) =>
  runPlaybook('switch', '--inventory', await servedBy(server), '--to', server, '--yes', ...args);

export function expectConverged({ exitCode, output }: Ended) {
  expect(exitCode, output).toBe(0);
}

/** How many of some servers run a synchronizer, and how many accept writes. */
export async function writers(servers: readonly string[] = ['db-1', 'rpc-2']) {
  const seen = await Promise.all(
    servers.map(async (server) => {
      const state = await onHost(
        server,
        `docker ps --format '{{.Names}}' | grep -x sync || :
         docker exec state-db psql -XqAtU state_user -d state_db -c 'select pg_is_in_recovery()' 2>/dev/null || echo off`,
      ).catch(() => 'off');
      return { sync: /^sync$/m.test(state), writes: /^f$/m.test(state) };
    }),
  );
  return { sync: seen.filter(({ sync }) => sync).length, writes: seen.filter(({ writes }) => writes).length };
}

/** Samples the writers until it is ended. */
export function watchWriters(servers?: readonly string[]) {
  const most = { sync: 0, writes: 0 };
  let longest = 0;
  let ends = false;
  const watching = (async () => {
    let since: number | undefined;
    while (!ends) {
      const now = await writers(servers);
      most.sync = Math.max(most.sync, now.sync);
      most.writes = Math.max(most.writes, now.writes);
      if (now.sync > 0) since = undefined;
      else {
        since ??= performance.now();
        longest = Math.max(longest, (performance.now() - since) / 1000);
      }
      await sleep(200);
    }
  })();
  return async () => {
    ends = true;
    await watching;
    return { ...most, pause: longest };
  };
}
