import type { ContainerState, Reader, Writer } from '../../host/host.ts';
import type { Step } from '../../host/step.ts';
import { command } from '../../host/step.ts';
import { Failure } from '../../problem/problem.ts';
import { eventually, type Patience } from '../job/eventually.ts';
import type { Difference, Verdict, Work } from '../resource.ts';
import { checkedAgainAfter, containerChange, driftOf, fileChange, unitChange } from '../resource.ts';
import { untilDockerRuns } from './docker-engine.ts';
import { endOfLog } from './end-of-log.ts';
import { meaningOfExitCode } from './exit-code.ts';

/**
 * The label that every service of a rendered compose file carries: a hash of its definition and of
 * each file mounted into it.
 */
export const configHashLabel = 'rpc-playbooks.config-hash';

/**
 * How long a container may take to stop before it is killed: a database flushes to disk in this
 * time. Seconds.
 */
const stopLimit = 120;

export interface ComposeService {
  /** Where docker-compose.yml is. */
  readonly directory: string;
  /** Its name in the compose file. */
  readonly service: string;
  /** The name of its container. */
  readonly container: string;
  /** The wanted value of the label. */
  readonly configHash: string;
  /** Other values of the label that mean the same configuration. Default: none. */
  readonly earlierHashes?: readonly string[];
  /** Files on the host that the service reads only at its start. */
  readonly readsAtStart: readonly string[];
  /** The image that it has to run, where its name in the compose file is not enough. */
  readonly imageId?: string | undefined;
}

function howItEnded(state: ContainerState | undefined): string {
  if (!state) return 'does not exist';
  const { status, exitCode, restartCount } = state;
  // While it runs again, Docker no longer has the exit code.
  if (status === 'running') return `does not stay up, restarts by Docker: ${restartCount}`;
  const meaning = meaningOfExitCode(exitCode);
  return `is ${status}, exit code ${exitCode}${meaning === undefined ? '' : ` (${meaning})`}`;
}

/**
 * A service of a compose file that has to run with its current configuration. Compose recreates
 * the container when the label in the file has changed. One that started before a fix of a file
 * that it reads may have read the old content, and is restarted. One that ends repeatedly is
 * started at once, although Docker would wait up to a minute. A matching one is left alone.
 */
export function composeService(given: ComposeService): Work {
  const { container, readsAtStart } = given;
  return {
    name: `${container} is running with its configuration`,
    changes: () => [containerChange(container)],
    follows: [
      ...readsAtStart.map((path) => ({ what: fileChange(path), effect: 'is restarted', certain: true })),
      // Unless the engine keeps its containers running (live-restore).
      { what: unitChange('docker.service'), effect: 'restarts with the engine', certain: false },
    ],

    async check(host) {
      const [until, state, ...files] = await Promise.all([
        untilDockerRuns(host),
        host.container(container),
        ...readsAtStart.map((path) => host.stat(path)),
      ]);
      if (until) return until;
      const differences = containerDifferences(state, given);
      const newer = readsAtStart.filter((_, at) => (files[at]?.modified ?? 0) > startOf(state));
      const stale = newer.map((path) => ({
        what: 'started',
        was: `before ${path} changed`,
        wanted: 'after it',
      }));
      return driftOf([...differences, ...stale], stepsOf(given, state, differences.length === 0));
    },

    async work(host) {
      await host.sleep(1);
      await ensureContainerRuns(host, container, { restarts: 0 });
    },
  };
}

/**
 * When a running container may have read its files. Seconds since 1970; one that does not run
 * reads them at its next start.
 */
function startOf(state: ContainerState | undefined): number {
  return state?.status === 'running' ? Date.parse(state.startedAt) / 1000 : Number.POSITIVE_INFINITY;
}

/**
 * The steps after which it runs with its configuration. `up` restarts a container only to change
 * or to start it.
 *
 * @param isOnlyOld whether it differs in nothing but the files that it has read
 */
function stepsOf(
  given: ComposeService,
  state: ContainerState | undefined,
  isOnlyOld: boolean,
): readonly Step[] {
  const { container } = given;
  if (isLeftByCompose(state)) return [command`docker stop --time ${stopLimit} ${container}`, up(given)];
  return isOnlyOld ? [up(given), command`docker restart --time ${stopLimit} ${container}`] : [up(given)];
}

/** Version 2 is a plugin of docker, version 1 a separate program; both take the same arguments. */
function up({ directory, service }: ComposeService): Step {
  const file = `${directory}/docker-compose.yml`;
  return command`
    if docker compose version >/dev/null 2>&1; then compose='docker compose'; else compose=docker-compose; fi
    $compose --file ${file} --project-directory ${directory} up --detach --no-deps --timeout ${stopLimit} ${service} </dev/null`;
}

/**
 * Whether `up` leaves a container as it is although its program does not run: one that Docker
 * restarts by itself, with a growing pause that it may be in at the moment, and a paused one
 * (version 2 fails on it). A stopped one is started again, and `created` and `exited` are started
 * by `up` itself.
 */
function isLeftByCompose(state: ContainerState | undefined): boolean {
  return state !== undefined && (state.restartCount > 0 || state.status === 'paused');
}

/** A program may write this much after the reason for its end. Lines. */
const readLines = 300;

/**
 * PostgreSQL's words to one of two programs that replace the same function at the same time, as
 * provers of two hosts do at their start. The program ends, Docker starts it again, and it works.
 */
const passingFault = /tuple concurrently updated/;

/** How often that may happen to a container in a row. */
const passingRestarts = 3;

/**
 * @param restarts how often Docker may have restarted it since it was started; default any number
 * @throws Failure with the reason from the container's log when it does not run, or was restarted
 * more often, unless that passes by itself
 */
export async function ensureContainerRuns(
  host: Writer,
  container: string,
  { restarts = Number.POSITIVE_INFINITY } = {},
): Promise<void> {
  const [state, log] = await Promise.all([
    host.container(container),
    host.$`docker logs --tail ${readLines} ${container} 2>&1`,
  ]);
  if (state?.status === 'running' && state.restartCount <= restarts) return;
  if (await comesBack(host, container, state)) return;
  const words = log.ok && log.text() ? `\n${endOfLog(log.text())}` : '';
  throw new Failure(`container ${container} ${howItEnded(state)}${words}`);
}

/** Whether a container ended by a fault that passes by itself, and Docker has started it again, or will. */
async function comesBack(
  host: Reader,
  container: string,
  state: ContainerState | undefined,
): Promise<boolean> {
  if (state?.status !== 'running' && state?.status !== 'restarting') return false;
  if (state.restartCount > passingRestarts) return false;
  // A log outlives a restart of its container: an older fault says nothing about this start.
  const log = await host.$`docker logs --since 5m --tail ${readLines} ${container} 2>&1`;
  return passingFault.test(log.stdout);
}

/**
 * A state that the program of a container reaches some time after its start. It is not waited for
 * if the container does not run.
 */
export function reachedBy(
  container: string,
  name: string,
  check: (host: Reader) => Promise<Verdict>,
  patience: Pick<Patience, 'seconds' | 'hint'>,
): Work {
  const giveUp = (host: Writer) => ensureContainerRuns(host, container);
  return checkedAgainAfter(eventually(name, check, { ...patience, giveUp }), container);
}

/** What is not as it should be with a container; nothing when all is well. */
function containerDifferences(
  state: ContainerState | undefined,
  {
    configHash,
    earlierHashes = [],
    imageId,
  }: Pick<ComposeService, 'configHash' | 'earlierHashes' | 'imageId'>,
): readonly Difference[] {
  if (!state) return [{ what: 'container', was: 'absent', wanted: 'running' }];
  const differences: Difference[] = [];
  if (state.status !== 'running') {
    const was = state.status === 'exited' ? `exited with ${state.exitCode}` : state.status;
    differences.push({ what: 'container', was, wanted: 'running' });
  }
  const hash = state.labels[configHashLabel] ?? '';
  const [was, wanted] = [hash.slice(0, 12) || 'unlabelled', configHash.slice(0, 12)];
  if (![configHash, ...earlierHashes].includes(hash))
    differences.push({ what: 'configuration', was, wanted });
  if (imageId !== undefined && state.imageId !== imageId)
    differences.push({ what: 'image', was: state.imageId, wanted: imageId });
  return differences;
}
