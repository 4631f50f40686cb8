import { exitCode, Failure, Problem } from '../problem/problem.ts';
import { Interrupted } from '../resource/job/pause.ts';
import { describeUnmet, type EveryHost, isWarning, makeChange, type Verdict } from '../resource/resource.ts';
import type { Step } from './events.ts';
import type { HostRun, Item } from './host-run.ts';
import type { RunOptions } from './run-options.ts';
import { changesTogether, changeTogether, didNotConverge, mostTogether, travelsAlone } from './together.ts';

/** The reason of a host that stopped because the operator ended the run. */
export const quitByOperator = 'you ended the run here';

/** The answer to a change: make it, leave it out and go on with the next task, or end the run. */
export type Confirmed = 'change' | 'skip' | 'quit';

/** Asks before a change. */
export type ConfirmEach = (step: Step, seen: Verdict & { is: 'drift' }) => Promise<Confirmed>;

export interface ChangeOptions {
  /** Aborted when no new change may start. */
  readonly stop: AbortSignal;
  readonly confirmEach?: ConfirmEach | undefined;
  readonly refuses?: RunOptions['refuses'];
  /**
   * Makes a change while a condition holds on every host.
   *
   * @returns a note about unchecked hosts
   * @throws Problem where it does not hold
   */
  whileEveryHost(condition: EveryHost, change: () => Promise<void>): Promise<string | undefined>;
}

/**
 * Converges a host's items in order. The first failure ends it, because later items depend on earlier ones.
 * No item is judged by a check from before the last change, and none fails as unknown by a check that was made for an earlier item.
 * The request that proves a change also checks the next items.
 *
 * @param items checked already, maybe before the host's last change
 * @param options whether to stop before the next change, and whether it may be made
 * @returns why it stopped, or undefined when all items are ok
 */
export async function converge(
  host: HostRun,
  items: readonly Item[],
  options: ChangeOptions,
): Promise<string | undefined> {
  for (let at = 0; at < items.length; ) {
    const item = items[at];
    if (!item) break;
    if (options.stop.aborted) return 'interrupted';
    // An unknown state was read beside its condition, which may be met since: it is a failure only if it stays.
    const isOutdated = item.seenIn !== host.state || item.seen?.is === 'unknown';
    const rest = items.slice(at);
    if (isOutdated) await host.check(next(rest));
    const together = changesTogether(host, rest, (each) => fits(each, options));
    if (together) {
      const { handled, failed } = await changeTogether(host, together, next(rest), options.stop);
      if (failed) return failed;
      at += handled;
      if (handled > 0) continue;
    }
    const failed = await convergeItem(host, item, rest, options);
    if (failed) return failed;
    at += 1;
  }
  return undefined;
}

/** Whether nobody has to be asked before a change, and the plan has it. */
function fits({ step, resource, seen }: Item, { confirmEach, refuses }: ChangeOptions): boolean {
  if (confirmEach || resource.everyHost || seen?.is !== 'drift') return false;
  return refuses?.(step, seen.change) === undefined;
}

/**
 * @returns why the host stops here, or undefined
 */
async function convergeItem(host: HostRun, item: Item, rest: readonly Item[], options: ChangeOptions) {
  const { seen, step, resource } = item;
  const failure = `${step.resource} failed`;
  if (!seen || seen.is === 'error') {
    host.done(step, 'failed', { error: seen?.error });
    return failure;
  }
  switch (seen.is) {
    case 'ok':
      host.done(step, 'ok');
      return undefined;
    case 'unknown':
      // It may depend on a skipped task, so nobody knows whether it should have become known.
      if (host.hasSkipped) {
        host.done(step, 'skipped', { note: `unknown until ${seen.until}` });
        return undefined;
      }
      if (resource.work && resource.expects) return change(host, item, seen, rest, options);
      host.done(step, 'failed', {
        error: new Failure(`unknown until ${seen.until}, which did not happen`, { hint: resource.hint }),
      });
      return failure;
    case 'drift':
      if (isWarning(resource, seen)) {
        host.done(step, 'warning', { note: describeUnmet(resource, seen) });
        return undefined;
      }
      try {
        vet(item, seen, options);
      } catch (error) {
        host.done(step, 'failed', { differences: seen.differences, note: seen.note, error });
        return failure;
      }
      if (!resource.expects && options.confirmEach) {
        const answer = await options.confirmEach(step, seen);
        if (answer === 'quit') return quitByOperator;
        if (answer === 'skip') {
          host.done(step, 'skipped', { differences: seen.differences, note: seen.note });
          // Later rewrites of the same file were checked as if it had been made.
          host.state += 1;
          return undefined;
        }
      }
      return change(host, item, seen, rest, options);
  }
}

/**
 * @throws Failure where the plan that the run follows has another change, or none: it showed only after another change
 */
function vet({ step, resource, turn }: Item, seen: Verdict, { refuses }: ChangeOptions): void {
  // A plan that showed less keeps no host from leaving before its changes.
  if (resource.expects || turn || seen.is !== 'drift') return;
  const why = refuses?.(step, seen.change);
  if (why !== undefined) throw new Failure(why, { hint: 'make a new plan: --check --out FILE' });
}

/**
 * @returns why the host stops here, or undefined when it converged
 */
async function change(
  host: HostRun,
  item: Item,
  before: Verdict & { is: 'drift' | 'unknown' },
  rest: readonly Item[],
  options: ChangeOptions,
): Promise<string | undefined> {
  const { step, resource } = item;
  const start = performance.now();
  let note = before.is === 'drift' ? before.note : undefined;
  const details = (error?: unknown) => ({
    ...(before.is === 'drift' && { differences: before.differences }),
    note,
    error,
    seconds: (performance.now() - start) / 1000,
  });
  const apply = async () => {
    host.state += 1;
    await makeChange(host.writerFor(step), resource, before, (seen) => vet(item, seen, options));
    await host.check(next(resource.provesItself ? rest.slice(1) : rest));
    if (resource.provesItself) return;
    const after = item.seen;
    if (!after || after.is === 'error') throw after?.error;
    if (after.is !== 'ok') throw didNotConverge(before, after);
  };
  try {
    host.started(step);
    if (!resource.everyHost) await apply();
    else {
      const unseen = await options.whileEveryHost(resource.everyHost, apply);
      note = [note, unseen].filter((part) => part !== undefined).join('; ') || undefined;
    }
  } catch (error) {
    // An interrupted wait is neither done nor failed: the next run continues it.
    if (error instanceof Interrupted) return error.message;
    // The run reports the holder of the lock.
    if (error instanceof Problem && error.code === exitCode.locked) return 'locked by another run';
    host.done(step, 'failed', details(error));
    return `${step.resource} failed`;
  }
  host.done(step, resource.expects ? 'ok' : 'changed', details());
  return undefined;
}

/**
 * The first item and the following ones, up to some changes ahead by the last check. After one that travels alone all others are checked
 * again, so it is the last.
 */
function next(items: readonly Item[]): readonly Item[] {
  let left = mostTogether;
  const last = items.findIndex((item, at) => {
    if (at === 0 || item.seen?.is !== 'drift' || isWarning(item.resource, item.seen)) return false;
    left -= 1;
    return left === 0 || travelsAlone(item.resource);
  });
  return last < 0 ? items : items.slice(0, last + 1);
}
