import type { Progress, Reader, Writer } from '../../host/host.ts';
import { lastWords } from '../../host/last-words.ts';
import type { Output } from '../../host/output.ts';
import { readScript } from '../../host/script.ts';
import { command } from '../../host/step.ts';
import { Failure } from '../../problem/problem.ts';
import { withShownAddresses } from '../network/http.ts';
import { describeVerdict, drift, ok, type Resource, type Verdict, type Work } from '../resource.ts';
import { pause } from './pause.ts';

const watchScript = readScript(new URL('watch-job.sh', import.meta.url));

/** Of the output of a job that failed. Lines. */
const shownWords = 15;

/**
 * Scripts of jobs, passwords for them, and the lock of a run. It is in memory: nothing of it
 * outlives a reboot.
 */
export const jobDirectory = '/run/rpc-playbooks';

/**
 * How long the host watches a running job before it answers: its progress, if it shows one, is as
 * old as that. Seconds.
 */
const firstWatch = 2;
const longestWatch = 10;

/** So many times in a row systemd may say nothing about a job, each after a watch of it. */
const mostUnanswered = 6;

/** Time for the answer itself. Seconds. */
const answerLimit = 60;

export interface LongWork {
  /**
   * Name of the transient systemd unit, without `.service`. The same work always has the same one.
   */
  readonly unit: string;
  /** Its description, as `systemctl status` shows it. */
  readonly title: string;
  /** POSIX shell, without a secret. Its last lines are shown when it fails. */
  readonly script: string;
  /** Its progress, read while it runs. */
  readonly progress?: (host: Reader) => Promise<Progress | undefined>;
  /**
   * Whether the purpose of the work is reached: read from the host, as exit code 0 proves nothing.
   * Without it the work is started whenever it does not run.
   */
  readonly done?: (host: Reader) => Promise<Verdict>;
}

/** Work whose purpose is checked. */
export type Job = Omit<LongWork, 'title' | 'done'> & Required<Pick<LongWork, 'done'>>;

/**
 * The error of work that did not come to a good end.
 *
 * @param log its last words
 */
function jobFailed(title: string, why: string, log: string): Failure {
  return new Failure(`${title}: ${why}${log ? `\n${log}` : ''}`);
}

/**
 * Long work that outlives the connection. If the work already runs, as after a lost connection,
 * the run watches it and does not start it again.
 *
 * @example job('archive is unpacked', { unit: 'unpack', script: 'tar -xf /srv/a.tar -C /srv', done: async (host) => ((await host.stat('/srv/a')) ? ok : drift('not unpacked')) })
 */
export function job(name: string, { done, ...work }: Job): Work {
  return {
    name,
    check: done,
    // The work ends with the check, as its failure has to show the last words of the job.
    provesItself: true,
    async work(host) {
      const words = await runInUnit(host, { ...work, title: name, done });
      const verdict = await done(host);
      if (verdict.is === 'ok') return;
      throw jobFailed(name, `the job ended, and still: ${describeVerdict(verdict)}`, await words());
    },
  };
}

/**
 * Long work that is started before its turn, to run in the background of the resources in between.
 * The resource of the work itself waits for it and reports how it ends.
 *
 * @param done whether the work is no longer needed
 */
export function startedEarly(
  name: string,
  work: LongWork,
  done: (host: Reader) => Promise<Verdict>,
): Resource {
  return {
    name,
    provesItself: true,
    async check(host) {
      const [verdict, isUnderWay] = await Promise.all([done(host), runs(host, work)]);
      if (verdict.is !== 'drift') return verdict;
      return isUnderWay ? ok : drift('not started', [startOf(work)]);
    },
  };
}

/**
 * Runs a script as a transient systemd unit, or finds the unit that an earlier run started, and
 * watches it to its end.
 *
 * @returns reads the last lines that it wrote
 * @throws Failure when it fails, and when a unit of that name does something else
 */
export async function runInUnit(host: Writer, work: LongWork): Promise<() => Promise<string>> {
  const { unit, title } = work;
  const [isUnderWay, script] = await Promise.all([runs(host, work), host.read(scriptOf(work))]);
  let first: End | undefined;
  if (!isUnderWay) {
    // If it has run since the host's start, it may have ended since the check, and must not run
    // twice.
    if (script && (await work.done?.(host))?.is === 'ok') return async () => '';
    first = await startAndWatch(host, work);
  } else if (script?.toString() !== work.script) {
    throw new Failure(`${title}: ${unit} is still running with other settings`, {
      hint: `let the job end, or end the job on ${host.name}: systemctl stop ${unit}`,
    });
  }
  const end = await watch(host, work, first);
  const words = () => wordsOf(host, unit, end.InvocationID ?? '');
  if (end.ActiveState !== 'failed') return words;
  const how = end.Result === 'exit-code' ? `exit code ${end.ExecMainStatus}` : end.Result;
  throw jobFailed(title, `${unit} failed (${how})`, await words());
}

/**
 * Whether the unit runs. Unlike `host.unit` it does not wait to see whether a unit that has just
 * started ends.
 */
async function runs(host: Reader, { unit }: LongWork): Promise<boolean> {
  const active = await host.$`systemctl show --property ActiveState --value ${unit}.service`;
  return isRunning(active.text());
}

const scriptOf = ({ unit }: LongWork) => `${jobDirectory}/${unit}.sh`;

/**
 * The command that starts the work. Another run may start the same unit after our check: then that
 * one is watched.
 */
function startOf(work: LongWork) {
  const { unit, title, script } = work;
  const path = scriptOf(work);
  // Every user of the host may read the description. A failed unit of an earlier run stays loaded
  // for the operator, and prevents a new one of its name.
  return command({ stdin: script })`
    umask 077
    mkdir -p ${jobDirectory} && cat >${path}.$$ && mv ${path}.$$ ${path} || exit
    systemctl reset-failed ${unit}.service 2>/dev/null || :
    systemd-run --quiet --no-ask-password --unit=${unit} --description=${withShownAddresses(title)} /bin/sh ${path} ||
      case $(systemctl show --property ActiveState ${unit}.service) in *=active | *=*ing) ;; *) exit 1 ;; esac`;
}

/**
 * What systemd says of a unit that has ended: one that failed stays loaded, one that succeeded is
 * gone, and has no InvocationID.
 */
type End = Readonly<Partial<Record<'InvocationID' | 'ActiveState' | 'Result' | 'ExecMainStatus', string>>>;

/**
 * Short work is one request.
 *
 * @returns what systemd says when it has ended, or after the first watch
 */
async function startAndWatch(host: Writer, work: LongWork): Promise<End> {
  const watching = [watchScript, 'watch-job', work.unit, 2 * firstWatch];
  return endIn(await host.run({ stdin: work.script })`sh -c ${startOf(work).command} && sh -c ${watching}`);
}

const endIn = (shown: Output): End =>
  Object.fromEntries(shown.lines().map((line) => line.split(/=(.*)/s).slice(0, 2)));

/**
 * Watches a unit to its end. The host answers when it has ended, or after some seconds.
 *
 * @param first what it said at the start
 */
async function watch(host: Writer, { unit, progress }: LongWork, first: End = {}): Promise<End> {
  if (first.ActiveState !== undefined && !isRunning(first.ActiveState)) return first;
  let invocation = first.InvocationID ?? '';
  let unanswered = 0;
  for (let seconds = progress ? firstWatch : longestWatch; ; seconds = Math.min(2 * seconds, longestWatch)) {
    const asked = Promise.all([
      host.$({
        timeoutSeconds: seconds + answerLimit,
      })`sh -c ${watchScript} watch-job ${unit} ${2 * seconds}`,
      progress?.(host),
    ]);
    const meanwhile = `${unit} keeps running on ${host.name}, and the next run finds it again`;
    await pause(host, seconds + answerLimit, meanwhile, asked);
    const [shown, reached] = await asked;
    const state = endIn(shown);
    invocation ||= state.InvocationID ?? '';
    // While systemd is busy or starts again it does not answer, and the unit runs on.
    unanswered = state.ActiveState === undefined ? unanswered + 1 : 0;
    if (unanswered === mostUnanswered)
      throw new Failure(`systemd does not say whether ${unit} runs`, { hint: meanwhile });
    if (unanswered === 0 && !isRunning(state.ActiveState)) return { ...state, InvocationID: invocation };
    if (reached) host.progress(reached);
  }
}

/**
 * Progress of work that fills one of these folders, by the bytes in them. One that is not there
 * has none.
 */
export async function bytesIn(host: Reader, folders: readonly string[], what: string): Promise<Progress> {
  const sizes = await host.$`du -sbc ${folders}`;
  return { what, done: Number.parseInt(sizes.text().split('\n').at(-1) ?? '', 10) || 0, unit: 'bytes' };
}

function isRunning(activeState = ''): boolean {
  return ['active', 'activating', 'deactivating', 'reloading'].includes(activeState);
}

/**
 * @param invocation systemd's name for the run; empty where it ended before it could be asked for
 */
async function wordsOf(host: Writer, unit: string, invocation: string): Promise<string> {
  const journal =
    await host.$`sh -c ${lastWords} last-words ${invocation || 'unknown'} ${shownWords} ${`_SYSTEMD_UNIT=${unit}.service`}`;
  return journal.ok ? journal.text() : '';
}
