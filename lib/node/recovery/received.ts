import { readFileSync } from 'node:fs';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { command } from '../../engine/host/step.ts';
import { bytes } from '../../engine/output/units.ts';
import { secretContent } from '../../engine/resource/file/content.ts';
import { directory } from '../../engine/resource/file/directory.ts';
import { file } from '../../engine/resource/file/file.ts';
import { bytesIn, job, jobDirectory } from '../../engine/resource/job/job.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  refused,
  unknownUntil,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { noOtherSynchronizer } from '../chain/single-sync.ts';
import { dataPlaceFunctions, emptyMount, heldIn, isOwnMount, placesOfCopy } from '../databases/data-place.ts';
import { authoritiesAreKnown } from '../encryption/trusted.ts';
import { product } from '../server/product.ts';
import { dataFolder } from '../variables/data-folders.ts';
import type { Variables } from '../variables/variables.ts';
import type { AskedRecovery } from './asked.ts';
import { markIn, passwordFile, servingUnit, servingUnitTls } from './paths.ts';
import { isRecovered } from './recovered.ts';
import { connectionToOffer, offerOf } from './serving.ts';

const read = (name: string) =>
  readFileSync(new URL(`../../../templates/host/${name}.sh`, import.meta.url), 'utf8');
const script = ['unpack-recovery', 'receive-recovery'].map(read).join('\n');
const roomScript = read('recovery-room');

/** So many files are fetched and unpacked at the same time. */
const workers = 4;

/** What uses the data directory. */
const containers = ['sync', 'prover', 'state-db'];

/** The Database+Sync server can receive a recovery, and what uses its data directory is stopped. */
export function recoveryCanBeReceived(context: Context<Variables>, asked: AskedRecovery): Resource[] {
  const { vars } = context;
  const received = dataIsReceived(context, asked);
  return [
    nothingIsInTheWay(vars, asked, received),
    packages('rsync', 'zstd', ...(vars.tls ? ['openssl'] : [])),
    // Where they are from an earlier deploy, a new authority is not.
    ...authoritiesAreKnown(vars),
    directory(jobDirectory).mode(0o700),
    file(passwordFile).content(secretContent(`${vars.backup.password?.reveal()}\n`, /./)),
    roomForRecovery(context, received),
    containersAreStopped(received),
  ];
}

/**
 * The Database+Sync server has the recovered data directory, and no synchronizer runs anywhere
 * meanwhile.
 */
export function recoveryIsReceived(context: Context<Variables>, asked: AskedRecovery): Resource {
  return { ...dataIsReceived(context, asked), everyHost: noOtherSynchronizer(context) };
}

/** No other data is in the way of the recovered data directory. */
export function recoveryHasItsPlace(context: Context<Variables>, asked: AskedRecovery): Resource {
  return nothingIsInTheWay(context.vars, asked, dataIsReceived(context, asked));
}

/**
 * The recovered files can be fetched, and there is room for them. Before the containers are
 * stopped.
 *
 * @param received whether the recovery is there
 */
function roomForRecovery(context: Context<Variables>, received: Pick<Resource, 'check'>): Resource {
  const { vars, hosts } = context;
  const data = dataFolder(vars, 'state-db');
  const connection = connectionToOffer(context);
  return skipWhen(
    received,
    expectation('there is room for the recovered databases', {
      check: async (host) => {
        const [password, answer] = await Promise.all([
          host.stat(passwordFile),
          host.$({
            timeoutSeconds: 120,
          })`sh -c ${dataPlaceFunctions + roomScript} room ${offerOf(hosts)} ${passwordFile} ${data} ${connection}`,
        ]);
        // Exit code of rsync: nothing serves them yet.
        if (password === undefined || answer.exitCode === 10 || /Connection refused/.test(answer.stderr))
          return unknownUntil('the files of the recovery can be fetched');
        if (!answer.ok)
          return refused(
            `the backup host does not send them: ${reasonIn(answer.stderr)}`,
            `see journalctl -u ${vars.tls ? servingUnitTls : servingUnit} on the backup host. The containers of this server still run`,
          );
        const [needed = 0, free = 0] = answer.text().split(' ').map(Number);
        return needed <= free
          ? ok
          : drift(`they take ${bytes(needed)}, and ${bytes(free)} are free on the file system of ${data}`);
      },
      hint: 'make room there. The containers of this server still run',
    }),
  );
}

/** Why rsync has no connection: openssl says it before rsync does. */
function reasonIn(stderr: string): string {
  const refusal = /^verify error:.*$/m.exec(stderr)?.[0];
  return refusal ?? stderr.trim().split('\n').at(-1) ?? '';
}

function dataIsReceived(context: Context<Variables>, { time, setsAside }: AskedRecovery): Resource {
  const { vars, hosts } = context;
  const data = dataFolder(vars, 'state-db');
  const settings = shellSettings({
    SOURCE: offerOf(hosts),
    CONNECT: connectionToOffer(context),
    PASSWORD_FILE: passwordFile,
    WORKERS: workers,
    DATA: data,
    TIME: time,
    SET_ASIDE: String(setsAside),
  });
  return job(`the recovered data directory is ${data}`, {
    unit: `${product}-recovery-receive`,
    script: settings + dataPlaceFunctions + script,
    done: async (host) => {
      const [isHere, mark, sync] = await Promise.all([
        isRecovered(host, data, time),
        host.stat(markIn(data)),
        host.container('sync'),
      ]);
      // The mark is as old as the directory. What a synchronizer has written since is of no recovery.
      const isUsed = mark && sync && Date.parse(sync.startedAt) / 1000 >= mark.modified;
      return isHere && !isUsed ? ok : drift('it is not here');
    },
    progress: (host) => bytesIn(host, placesOfCopy(data), 'fetching the recovered databases'),
  });
}

/**
 * @param received whether the recovery is there
 */
function nothingIsInTheWay(
  vars: Variables,
  { setsAside }: AskedRecovery,
  received: Pick<Resource, 'check'>,
): Resource {
  const data = dataFolder(vars, 'state-db');
  return expectation('no other data is in the way', {
    check: async (host) => {
      const [found, held, isMount] = await Promise.all([
        received.check(host),
        heldIn(host, data),
        isOwnMount(host, data),
      ]);
      if (found.is === 'ok' || held.length === 0) return ok;
      if (!setsAside) return drift(`${data} holds other data, which is not replaced`);
      return isMount
        ? refused(
            `${data} holds other data and is a mount of its own, so it cannot be renamed`,
            emptyMount(data),
          )
        : ok;
    },
    hint: `if the directory is of a recovery that got as far as the synchronizer, deploy.mjs does the rest. With --set-aside the directory is renamed to ${data}.before-TIME, and stays`,
  });
}

/**
 * @param received whether the recovery is there
 */
function containersAreStopped(received: Pick<Resource, 'check'>): Resource {
  return {
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
  };
}
