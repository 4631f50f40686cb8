import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Reader } from '../lib/engine/host/host.ts';
import { shellSettings } from '../lib/engine/host/shell-settings.ts';
import { Failure } from '../lib/engine/problem/problem.ts';
import { ensureContainerRuns } from '../lib/engine/resource/docker/compose-service.ts';
import { cpuShares } from '../lib/engine/resource/docker/cpu-shares.ts';
import { secretContent } from '../lib/engine/resource/file/content.ts';
import { bytesIn, jobDirectory } from '../lib/engine/resource/job/job.ts';
import { directory, eventually, file, job, skipWhen } from '../lib/engine/resource/kinds.ts';
import { drift, expectation, ok, type Resource, unknownUntil } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { Secret } from '../lib/engine/secret/secret.ts';
import { collationsAgree } from '../lib/node/databases/collation.ts';
import { dataPlaceFunctions, heldIn, placesOfCopy } from '../lib/node/databases/data-place.ts';
import { databaseCpuShares, stateDatabase } from '../lib/node/databases/databases.ts';
import { databaseRole } from '../lib/node/monitor/statistics-role.ts';
import { component } from '../lib/node/render/component.ts';
import { placeIsRemembered } from '../lib/node/server/data-disks.ts';
import { product } from '../lib/node/server/product.ts';
import { databaseHost } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const read = (name: string) => readFileSync(new URL(`../templates/host/${name}.sh`, import.meta.url), 'utf8');

/** The replay of the log that the server wrote during the copy, and the wait until the replica has caught up. Seconds. */
const longestReplay = 12 * 3600;
/** A replica with less to replay is hardly behind. Bytes. */
const caughtUpWithin = 16 * 1024 ** 2;

/** A replica's slot on the database server. A slot's name has a-z, 0-9 and _, up to 63 bytes. */
export function slotOf(name: string): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 6);
  const start = `${product}_replica_${name}`.toLowerCase().replaceAll(/[^a-z0-9]/g, '_');
  return `${start.slice(0, 50)}_${hash}`;
}

/** A copy of the whole state database server that follows it, and that RPC servers read. */
export default role<Variables>('replica', async (context) => {
  if (!context.host.groups.includes('replica')) return [];
  const { image, service } = await component(context, 'state-db');
  return [
    image,
    ...serverIsCopied(context),
    ...placeIsRemembered(context.vars, 'state-db', `${context.vars.paths.data}/state-db`),
    service,
    cpuShares('state-db', databaseCpuShares),
    reached(context, 'state-db answers', 'select true'),
    collationsAgree(context.vars),
    followsTheServer(context),
    reached(
      context,
      `state-db has caught up with ${databaseHost(context.hosts).name}`,
      `select coalesce((select pg_wal_lsn_diff(latest_end_lsn, pg_last_wal_replay_lsn()) < ${caughtUpWithin}
        from pg_stat_wal_receiver where status = 'streaming'), false)`,
    ),
  ];
});

/** During a switch the data of the former server become those of a replica. */
const formerEnds = unknownUntil('the former server is a replica');

/** The data directory is a copy of the server's. Another one is never touched. */
function serverIsCopied({ vars, hosts, host, given }: Context<Variables>): Resource[] {
  const { connection, vars: ofServer } = databaseHost(hosts);
  const data = `${vars.paths.data}/state-db`;
  const password = `${jobDirectory}/replica-password`;
  const settings = shellSettings({
    IMAGE: vars.images.database,
    ADDRESS: connection.address,
    PORT: ofServer.ports.state_db,
    SLOT: slotOf(host.name),
    DATABASE: vars.credentials.state.database,
    PASSWORD_FILE: password,
    DATA: data,
  });
  const copied = job(`${data} is a copy of the database server`, {
    unit: `${product}-replica-copy`,
    script: settings + dataPlaceFunctions + read('replica-copy'),
    done: async (reader) => {
      const [copy, own] = await Promise.all([reader.stat(`${data}/standby.signal`), reader.stat(`${data}/PG_VERSION`)]);
      if (copy) return ok;
      return own && given.to !== undefined ? formerEnds : drift('there is no copy yet');
    },
    progress: (reader) => bytesIn(reader, placesOfCopy(data), 'copying the database server'),
  });
  const secret = secretContent(`${vars.replica.password?.reveal()}\n`, /./);
  const before = [
    expectation(`no other data is in ${data}`, {
      check: async (reader) => {
        const [held, own] = await Promise.all([heldIn(reader, data), reader.stat(`${data}/PG_VERSION`)]);
        if (held.length === 0) return ok;
        return own && given.to !== undefined ? formerEnds : drift('it holds data that is not of a replica');
      },
      hint: `nothing there is replaced. If it is not needed: docker rm -f state-db, then rename or remove ${data}`,
    }),
    directory(jobDirectory).mode(0o700),
    file(password).content(secret),
  ];
  return [...before.map((each) => skipWhen(copied, each)), copied];
}

function followsTheServer({ vars, hosts, host }: Context<Variables>): Resource {
  const { name, connection, vars: ofServer } = databaseHost(hosts);
  const { user, database } = vars.credentials.state;
  const words = ['standby', user, database, connection.address, ofServer.ports.state_db, slotOf(host.name)];
  const stdin = new Secret(`${vars.replica.password?.reveal()}\n`);
  return databaseRole(`state-db follows that of ${name}`, read('standby'), words, { stdin });
}

/**
 * @param query a select of one value, t once it is so
 */
function reached({ vars, given }: Context<Variables>, name: string, query: string): Resource {
  return eventually(
    name,
    async (host) => {
      const answer = await host.sql(stateDatabase(vars), `${query}, pg_is_in_recovery()`);
      if (!answer.ok) return unknownUntil('state-db has replayed the log of the copy, and answers SQL');
      const [isReached, follows] = answer.rows[0] ?? [];
      if (follows === 'f' && given.to !== undefined) return formerEnds;
      return isReached === 't' ? ok : drift('it receives nothing, or replays what it received');
    },
    {
      seconds: longestReplay,
      giveUp: async (host) => {
        await ensureContainerRuns(host, 'state-db');
        await refuseGap(host, `${vars.paths.data}/state-db`);
      },
    },
  );
}

/**
 * @throws Failure where the server has dropped what the replica did not fetch in time
 */
async function refuseGap(host: Reader, data: string): Promise<void> {
  const log =
    await host.$`docker logs --tail 30 state-db 2>&1 | grep -E 'has already been removed|invalidated' | tail -n 1`;
  if (log.text() === '') return;
  throw new Failure(`the server has dropped log that this replica needs: ${log.text()}`, {
    hint: `copy it again: docker rm -f state-db, remove ${data}, then deploy. backup.most_kept is the limit`,
  });
}
