import { randomBytes, scryptSync } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { readBounded, UnfitFile } from '../file/bounded-file.ts';
import { writePrivateFile } from '../file/private-output.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { Problem, Problems } from '../problem/problem.ts';
import { redact, Secret } from '../secret/secret.ts';
import type { Step } from './events.ts';
import type { HostPlan, Planned } from './plan.ts';

/** The plan of a thousand hosts has half of this size. Bytes. */
const largest = 64 * 1024 * 1024;

const task = z.strictObject({
  play: z.string(),
  role: z.string(),
  resource: z.string(),
  outcome: z.enum(['pending', 'unknown']),
  /** It follows from other changes and is not visible yet. */
  predicted: z.boolean(),
  differences: z.array(z.strictObject({ what: z.string(), was: z.string(), wanted: z.string() })),
  note: z.string().optional(),
  commands: z.array(z.string()),
});

const schema = z.strictObject({
  format: z.literal(1),
  made: z.iso.datetime(),
  playbook: z.string(),
  /** `file` is a name or an absolute path: it is found from every working directory. */
  inventory: z.strictObject({ name: z.string(), file: z.string(), salt: z.string(), hash: z.string() }),
  /** The options that narrowed the plan. The run that follows it uses the same ones. */
  chosen: z.strictObject({
    roles: z.array(z.string()),
    skippedRoles: z.array(z.string()),
    startAt: z.string().optional(),
    set: z.array(z.string()),
    assumedStopped: z.array(z.string()).default([]),
  }),
  hosts: z.array(z.strictObject({ host: z.string(), tasks: z.array(task) })),
});

/** A saved plan: `--check --out FILE` writes it, `--plan FILE` follows it. */
export type SavedPlan = z.output<typeof schema>;
type SavedTask = z.output<typeof task>;

/** The origin of a plan. */
export type PlanOrigin = Pick<SavedPlan, 'playbook' | 'chosen'> & { readonly inventory: Inventory<unknown> };

/** @param now milliseconds since 1970 */
export function makePlan(
  plans: readonly HostPlan[],
  { playbook, chosen, inventory }: PlanOrigin,
  now: number,
): SavedPlan {
  const salt = randomBytes(16).toString('hex');
  return {
    format: 1,
    made: new Date(now).toISOString(),
    playbook,
    inventory: { name: inventory.name, file: inventory.file, salt, hash: fingerprint(inventory, salt) },
    chosen,
    hosts: plans.map(({ host, tasks }) => ({ host, tasks: tasks.flatMap(savedTask) })),
  };
}

function savedTask({ step, outcome, predicted, differences, note, commands }: Planned): SavedTask[] {
  if (outcome !== 'pending' && outcome !== 'unknown') return [];
  const { play, role, resource } = step;
  const saved = { play, role, resource, outcome, predicted, differences: [...differences], commands: [...commands] };
  return [note === undefined ? saved : { ...saved, note }];
}

/** A slow hash of the whole inventory, with its passwords. */
function fingerprint(inventory: Inventory<unknown>, salt: string): string {
  const all = JSON.stringify(inventory.hosts, function (this: Record<string, unknown>, key, value) {
    const given = this[key];
    return given instanceof Secret ? given.reveal() : value;
  });
  return scryptSync(all, salt, 32).toString('hex');
}

/** Writes a plan with mode 0600, secrets redacted. @throws Problem where the file cannot be written */
export function savePlan(plan: SavedPlan, file: string): void {
  const text = JSON.stringify(plan, (_, value) => (typeof value === 'string' ? redact(value) : value), 2);
  writePrivateFile(file, `${text}\n`);
}

/** Reads a plan. @throws Problem where the file is missing or is not a plan */
export async function loadPlan(file: string): Promise<SavedPlan> {
  const parsed = schema.safeParse(parseJson(textOf(file)));
  const hint = 'make a new one: --check --out FILE';
  if (parsed.success && parsed.data.hosts.length === 0) throw new Problem(`${file} is a plan without hosts`, { hint });
  if (parsed.success) return parsed.data;
  throw new Problem(`${file} is not a plan of this version`, { hint });
}

function textOf(file: string): string {
  try {
    return readBounded(file, largest).toString('utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      error instanceof UnfitFile ? error.message : code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`;
    throw new Problem(`the plan "${file}" ${why}`, { hint: 'make one: --check --out FILE' });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const sameTask = (a: Pick<Step, 'play' | 'role' | 'resource'>, b: Pick<Step, 'play' | 'role' | 'resource'>): boolean =>
  a.play === b.play && a.role === b.role && a.resource === b.resource;

/** Whether a task may be changed by a plan: it was pending, or unknown. */
export function allowedBy(plan: SavedPlan): (step: Step) => boolean {
  return (step) =>
    plan.hosts.some(({ host, tasks }) => host === step.host && tasks.some((each) => sameTask(each, step)));
}

/**
 * Refuses a plan whose inventory is another one, or has changed. No host is needed for it.
 *
 * @throws Problem
 */
export function refuseOtherInventory(plan: SavedPlan, inventory: Inventory<unknown>): void {
  if (fingerprint(inventory, plan.inventory.salt) === plan.inventory.hash) return;
  const { name } = plan.inventory;
  const what =
    name === inventory.name
      ? `the inventory ${name} has changed since the plan was made (${plan.made})`
      : `this is a plan of the inventory ${name}, and ${inventory.name} is another one`;
  throw new Problem(what, { hint: 'make a new plan: --check --out FILE' });
}

/**
 * Refuses a stale plan.
 *
 * @param now the plan as it is now
 * @throws Problems with each task that differs
 */
export function refuseStale(plan: SavedPlan, now: readonly HostPlan[]): void {
  const missing = plan.hosts
    .filter(({ host }) => !now.some((each) => each.host === host))
    .map(({ host }) => new Problem(`${host}: it is in the plan, and is unreachable now`));
  const failing = now.flatMap(({ tasks }) =>
    tasks
      .filter(({ outcome }) => outcome === 'failed')
      .map(({ step }) => new Problem(`${step.host}: ${step.role}: ${step.resource}: it fails now`)),
  );
  const problems = now.flatMap(({ host, tasks }) => {
    const before = checkedTasks(plan.hosts.find((each) => each.host === host)?.tasks ?? []);
    return differencesSince(host, before, checkedTasks(tasks.flatMap(savedTask)));
  });
  const all = [...missing, ...failing, ...problems];
  if (all.length === 0) return;
  throw new Problems([...all, new Problem('nothing was changed', { hint: 'make a new plan: --check --out FILE' })]);
}

/** A predicted task is not visible yet, so it cannot be compared. */
function checkedTasks(tasks: readonly SavedTask[]): SavedTask[] {
  return tasks.filter(({ predicted }) => !predicted);
}

function differencesSince(host: string, before: readonly SavedTask[], after: readonly SavedTask[]): Problem[] {
  const since = 'since the plan was made';
  const gone = before
    .filter((task) => !after.some((each) => sameTask(each, task)))
    .map(({ role, resource }) => new Problem(`${host}: ${role}: ${resource}: ok or failing ${since}`));
  const others = after.flatMap((task) => {
    const was = before.find((each) => sameTask(each, task));
    const name = `${host}: ${task.role}: ${task.resource}`;
    if (!was) return [new Problem(`${name}: drifted ${since}`)];
    const { outcome, differences, note } = task;
    const same = isDeepStrictEqual(
      [was.outcome, was.differences, was.note, was.commands],
      [outcome, differences, note, task.commands],
    );
    return same ? [] : [new Problem(`${name}: its differences changed ${since}`)];
  });
  return [...gone, ...others];
}
