import { readFileSync } from 'node:fs';
import { command } from '../../engine/host/action.ts';
import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { ensureContainerRuns } from '../../engine/resource/docker/compose-service.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { bytesIn, job, jobDirectory } from '../../engine/resource/job/job.ts';
import { directory, eventually, file, packages } from '../../engine/resource/kinds.ts';
import { drift, expectation, ok, type Resource, task, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { noOtherSynchronizer } from '../chain/single-sync.ts';
import { stateDatabase } from '../databases/databases.ts';
import { product } from '../server/product.ts';
import { addressesOf, databaseHost } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { backupFolder, recoveryProgram, resultsFolder } from './repository.ts';
import { backupHost } from './source.ts';

const receive = readFileSync(new URL('../../../templates/host/receive-recovery.sh', import.meta.url), 'utf8');

/** rsync on the backup host, while a recovery is fetched. */
const port = 8730;
const serving = `${product}-recovery-serve`;
/** A fetch that takes longer is started again by the next run. Seconds. */
const longestServed = 3 * 86_400;
/** The replay of the write-ahead log since the base backup. Seconds. */
const longestReplay = 12 * 3600;

const passwordFile = `${jobDirectory}/recovery-password`;
const stagedFolder = (vars: Variables) => `${backupFolder(vars)}/recovery`;
const mark = (folder: string) => `${folder}/rpc-node-recovered`;
const dataOf = ({ paths }: Variables) => `${paths.data}/state-db`;

/** Whether a data directory is as the databases were at a time. */
async function isRecovered(host: Reader, folder: string, time: string): Promise<boolean> {
  return (await host.read(mark(folder)))?.toString().trim() === time;
}

/** The backup host makes the data directory as it was at a time, and lets the Database+Sync server fetch it. */
export function recoveryIsStaged({ vars, hosts }: Context<Variables>, time: string): Resource[] {
  const folder = stagedFolder(vars);
  const configuration = `${jobDirectory}/recovery-rsyncd.conf`;
  const text = `use chroot = no\nuid = root\ngid = root\n[recovery]\npath = ${folder}\nread only = yes\nauth users = recovery
secrets file = ${passwordFile}\nhosts allow = ${addressesOf(databaseHost(hosts)).join(' ')}\n`;
  const secret = secretContent(`recovery:${vars.backup.password?.reveal()}\n`, /:/);
  return [
    directory(jobDirectory).mode(0o700),
    job(`both databases are recovered to ${time}`, {
      unit: `${product}-recovery`,
      script: `exec ${recoveryProgram} stage ${folder} ${time}\n`,
      done: async (host) => ((await isRecovered(host, folder, time)) ? ok : drift('there is no such recovery yet')),
      progress: async () => ({ what: 'recovering from the backup' }),
    }),
    file(passwordFile).content(secret),
    file(configuration).content(text),
    task('the recovered files can be fetched', {
      check: async (host) => {
        if ((await host.unit(`${serving}.service`)).active === 'active') return ok;
        return drift('they are not served', [
          command`
            systemctl reset-failed ${serving}.service 2>/dev/null || :
            systemd-run --quiet --unit=${serving} --property=RuntimeMaxSec=${longestServed} rsync --daemon --no-detach --port=${port} --config=${configuration}`,
        ]);
      },
    }),
  ];
}

/**
 * The Database+Sync server has the recovered data directory, and no synchronizer runs anywhere meanwhile.
 *
 * @param setsAside whether another data directory may be put aside; it is kept
 */
export function recoveryIsReceived(context: Context<Variables>, time: string, setsAside: boolean): Resource[] {
  const { vars, hosts } = context;
  const data = dataOf(vars);
  const settings = shellSettings({
    ADDRESS: backupHost(hosts)?.connection.address ?? '',
    PORT: port,
    PASSWORD_FILE: passwordFile,
    DATA: data,
    TIME: time,
    SET_ASIDE: String(setsAside),
  });
  const users = ['sync', 'prover', 'state-db'];
  const received = job(`the recovered data directory is ${data}`, {
    unit: `${product}-recovery-receive`,
    script: settings + receive,
    done: async (host) => ((await isRecovered(host, data, time)) ? ok : drift('it is not here')),
    progress: (host) => bytesIn(host, `${data}.recovered`, 'fetching the recovered databases'),
  });
  return [
    expectation('no other data is in the way', {
      check: async (host) => {
        const [found, list] = await Promise.all([received.check(host), host.$`ls -A ${data}`]);
        const isFree = found.is === 'ok' || setsAside || list.text() === '';
        return isFree ? ok : drift(`${data} holds other data, which is not replaced`);
      },
      hint: `with --set-aside it is renamed to ${data}.before-TIME, and stays`,
    }),
    packages('rsync'),
    directory(jobDirectory).mode(0o700),
    file(passwordFile).content(secretContent(`${vars.backup.password?.reveal()}\n`, /./)),
    {
      name: `${users.join(', ')} do not run during the recovery`,
      check: async (host) => {
        const [found, ...states] = await Promise.all([
          received.check(host),
          ...users.map((name) => host.container(name)),
        ]);
        const running = users.filter((_, at) => states[at]?.running);
        if (found.is === 'ok' || running.length === 0) return ok;
        return drift(`${running.join(', ')} run`, [command({ timeoutSeconds: 300 })`docker stop ${running}`]);
      },
    },
    { ...received, everyHost: noOtherSynchronizer(context) },
  ];
}

/** The server has replayed the write-ahead log, and is on its own. */
export function recoveryHasEnded(vars: Variables): Resource {
  return eventually(
    'the database server has recovered',
    async (host) => {
      const answer = await host.sql(stateDatabase(vars), 'select pg_is_in_recovery()');
      if (!answer.ok) return unknownUntil('state-db answers SQL');
      return answer.rows[0]?.[0] === 'f' ? ok : drift('it is replaying the write-ahead log');
    },
    { seconds: longestReplay, giveUp: (host) => ensureContainerRuns(host, 'state-db') },
  );
}

/** The end of a recovery: the next one starts without it. */
export function recoveryIsForgotten({ vars, host: { groups } }: Context<Variables>): Resource {
  const isBackup = groups.includes('backup');
  const left = isBackup ? stagedFolder(vars) : mark(dataOf(vars));
  return task('nothing is left of the recovery', {
    check: async (host) => {
      const [stat, unit] = await Promise.all([host.stat(left), host.unit(`${serving}.service`)]);
      if (!stat && unit.active !== 'active') return ok;
      const stop = isBackup ? [command`systemctl stop ${serving}.service`] : [];
      return drift(`${left} is there`, [...stop, command`rm -rf ${left} ${passwordFile}`]);
    },
  });
}

/** A recovery drill on the backup host. It runs each time: an earlier one that passed proves nothing. */
export function drillPasses(vars: Variables, time: string): Resource {
  const drill = job(`a recovery drill to ${time} passes`, {
    unit: `${product}-drill`,
    script: `exec ${recoveryProgram} drill ${backupFolder(vars)}/drill ${time}\n`,
    // The program removes it before it begins.
    done: async (host) => ((await host.stat(`${resultsFolder}/drill-passed`)) ? ok : drift('it did not pass')),
    progress: async () => ({ what: 'recovering into a container, and comparing its blocks' }),
  });
  return { ...drill, check: async () => drift('it was not run yet'), provesItself: true };
}
