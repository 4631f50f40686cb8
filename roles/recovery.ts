import { readFileSync } from 'node:fs';
import type { Reader } from '../lib/engine/host/host.ts';
import { shellSettings } from '../lib/engine/host/shell-settings.ts';
import { command } from '../lib/engine/host/step.ts';
import { Problem } from '../lib/engine/problem/problem.ts';
import { secretContent } from '../lib/engine/resource/file/content.ts';
import { bytesIn, job, jobDirectory } from '../lib/engine/resource/job/job.ts';
import { directory, file, packages } from '../lib/engine/resource/kinds.ts';
import { drift, expectation, ok, type Resource, task } from '../lib/engine/resource/resource.ts';
import { type Context, role } from '../lib/engine/resource/role.ts';
import { resultsFolder } from '../lib/node/backup/folders.ts';
import { backupHost } from '../lib/node/backup/source.ts';
import { noOtherSynchronizer } from '../lib/node/chain/single-sync.ts';
import { product } from '../lib/node/server/product.ts';
import { backupFolder } from '../lib/node/variables/data-folders.ts';
import { addressesOf, databaseHost } from '../lib/node/variables/hosts.ts';
import type { Variables } from '../lib/node/variables/variables.ts';
import { recoveryProgram } from './backup.ts';

const receive = readFileSync(new URL('../templates/host/receive-recovery.sh', import.meta.url), 'utf8');

/** rsync on the backup host, while a recovery is fetched. */
const port = 8730;
export const serving = `${product}-recovery-serve`;
/** A fetch that takes longer is started again by the next run. Seconds. */
const longestServed = 3 * 86_400;

export const passwordFile = `${jobDirectory}/recovery-password`;
export const stagedFolder = (vars: Variables) => `${backupFolder(vars)}/recovery`;
/** The file in a data directory that says to which time it was recovered. */
export const mark = (folder: string) => `${folder}/rpc-node-recovered`;
export const dataOf = ({ paths }: Variables) => `${paths.data}/state-db`;

/** The databases as they were at a time: made on the backup host, and put in place on the Database+Sync server. Or a drill of it. */
export default role<Variables>('recovery', (context) => {
  const { host, hosts, vars, given } = context;
  const time = given['to-time'];
  if (time === undefined) return [];
  const server = databaseHost(hosts).name;
  const { 'to-server': named = server } = given;
  if (named !== server) {
    throw new Problem(`--to-server ${named}: the Database+Sync server of the inventory is ${server}`, {
      hint: 'name the new server in group database of the inventory, in place of the lost one',
    });
  }
  if (backupHost(hosts) === undefined) {
    throw new Problem('there is no backup: the inventory has no host in group backup', {
      hint: 'a lost database starts from the snapshot again: deploy.mjs',
    });
  }
  if (host.groups.includes('backup')) {
    return given.drill === undefined ? recoveryIsStaged(context, time) : [drillPasses(vars, time)];
  }
  return given.drill === undefined ? recoveryIsReceived(context, time, given['set-aside'] !== undefined) : [];
});

/** Whether a data directory is as the databases were at a time. */
async function isRecovered(host: Reader, folder: string, time: string): Promise<boolean> {
  return (await host.read(mark(folder)))?.toString().trim() === time;
}

/**
 * Whether the staged data directory is still all that reached the backup host. A server that stopped for its recovery sends nothing, so
 * log that came more than an hour later is of one that went on.
 */
async function isNewest(host: Reader, vars: Variables): Promise<boolean> {
  const repository = `${backupFolder(vars)}/state-db`;
  const newer = await host.$`
    find ${repository}/wals ${repository}/streaming -type f -newermt "$(date -d "$(stat -c %y ${mark(stagedFolder(vars))}) 1 hour")" -print -quit`;
  return newer.text() === '';
}

/** The backup host makes the data directory as it was at a time, and lets the Database+Sync server fetch it. */
function recoveryIsStaged({ vars, hosts }: Context<Variables>, time: string): Resource[] {
  const folder = stagedFolder(vars);
  const configuration = `${jobDirectory}/recovery-rsyncd.conf`;
  const text = `use chroot = no\nuid = barman\ngid = barman\n[recovery]\npath = ${folder}\nread only = yes\nauth users = recovery
secrets file = ${passwordFile}\nhosts allow = ${addressesOf(databaseHost(hosts)).join(' ')}\n`;
  const secret = secretContent(`recovery:${vars.backup.password?.reveal()}\n`, /:/);
  return [
    directory(jobDirectory).mode(0o700),
    job(`both databases are recovered to ${time}`, {
      unit: `${product}-recovery`,
      script: `exec ${recoveryProgram} stage ${folder} ${time}\n`,
      done: async (host) => {
        if (!(await isRecovered(host, folder, time))) return drift('there is no such recovery yet');
        return time !== 'latest' || (await isNewest(host, vars))
          ? ok
          : drift('newer changes have reached the backup host');
      },
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
function recoveryIsReceived(context: Context<Variables>, time: string, setsAside: boolean): Resource[] {
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
  const containers = ['sync', 'prover', 'state-db'];
  const received = job(`the recovered data directory is ${data}`, {
    unit: `${product}-recovery-receive`,
    script: settings + receive,
    done: async (host) => {
      const [isHere, sync] = await Promise.all([isRecovered(host, data, time), host.container('sync')]);
      // A synchronizer starts last: data that it writes are not of this recovery any more.
      return isHere && !sync?.running ? ok : drift('it is not here');
    },
    progress: (host) => bytesIn(host, `${data}.recovered`, 'fetching the recovered databases'),
  });
  return [
    expectation('no other data is in the way', {
      check: async (host) => {
        const [found, list] = await Promise.all([received.check(host), host.$`ls -A ${data}`]);
        const isFree = found.is === 'ok' || setsAside || list.text() === '';
        return isFree ? ok : drift(`${data} holds other data, which is not replaced`);
      },
      hint: `if it is of a recovery that got as far as the synchronizer, deploy.mjs does the rest. With --set-aside it is renamed to ${data}.before-TIME, and stays`,
    }),
    packages('rsync'),
    directory(jobDirectory).mode(0o700),
    file(passwordFile).content(secretContent(`${vars.backup.password?.reveal()}\n`, /./)),
    {
      name: `${containers.join(', ')} do not run during the recovery`,
      check: async (host) => {
        const [found, ...states] = await Promise.all([
          received.check(host),
          ...containers.map((name) => host.container(name)),
        ]);
        const running = containers.filter((_, at) => states[at]?.running);
        if (found.is === 'ok' || running.length === 0) return ok;
        return drift(`${running.join(', ')} run`, [command({ timeoutSeconds: 300 })`docker stop ${running}`]);
      },
    },
    { ...received, everyHost: noOtherSynchronizer(context) },
  ];
}

/** A recovery drill on the backup host. It runs each time: an earlier one that passed proves nothing. */
function drillPasses(vars: Variables, time: string): Resource {
  const drill = job(`a recovery drill to ${time} passes`, {
    unit: `${product}-drill`,
    script: `exec ${recoveryProgram} drill ${backupFolder(vars)}/drill ${time}\n`,
    // The program puts the result of an earlier one aside before it begins.
    done: async (host) => ((await host.stat(`${resultsFolder}/drill-passed`)) ? ok : drift('it did not pass')),
  });
  return { ...drill, check: async () => drift('it was not run yet'), provesItself: true };
}
