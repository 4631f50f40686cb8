import { createHmac, randomBytes, scryptSync } from 'node:crypto';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { hintOfUnread, readBounded, whyUnread } from '../file/bounded-file.ts';
import { type Output, writePrivateFile } from '../file/private-output.ts';
import type { Step } from '../host/step.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { Problem, Problems } from '../problem/problem.ts';
import { redact, Secret } from '../secret/secret.ts';
import { parseJson } from '../text/parse-json.ts';
import type { Task } from './events.ts';
import { programVersion } from './lock/lock-holder.ts';
import type { HostPlan, Planned } from './plan.ts';
import type { RunOptions } from './run-options.ts';

/** The plan of a thousand hosts has half of this size. Bytes. */
const largest = 64 * 1024 * 1024;

/** Bytes of a step: as they are, or a keyed hash of those that hold a secret. */
const content = z.union([
  z.string(),
  z.strictObject({ base64: z.string() }),
  z.strictObject({ secret: z.string(), bytes: z.int() }),
]);

const attributes = z.strictObject({ mode: z.int(), owner: z.string(), group: z.string() });

const savedStep = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('run'),
    command: content,
    stdin: content.optional(),
    timeoutSeconds: z.number().optional(),
    allow: z.array(z.int()).optional(),
    rootsFolder: z.string().optional(),
  }),
  z.strictObject({ do: z.literal('write'), path: z.string(), content, attributes }),
  z.strictObject({ do: z.literal('directory'), path: z.string(), attributes }),
  z.strictObject({ do: z.literal('link'), path: z.string(), target: z.string() }),
  z.strictObject({ do: z.literal('rewrite'), path: z.string(), was: z.string(), content }),
]);

const task = z.strictObject({
  play: z.string(),
  role: z.string(),
  resource: z.string(),
  outcome: z.enum(['pending', 'unknown']),
  /** It follows from other changes and is not visible yet. */
  predicted: z.boolean(),
  differences: z.array(z.strictObject({ what: z.string(), was: z.string(), wanted: z.string() })),
  note: z.string().optional(),
  /** Left out where an earlier change of the plan decides them. */
  steps: z.array(savedStep).optional(),
});

const schema = z.strictObject({
  format: z.literal(2),
  /** Version of the program that made the plan. Plans of early versions do not have the field. */
  version: z.string().optional(),
  made: z.iso.datetime(),
  playbook: z.string(),
  /** `file` is a name or an absolute path: it is found from every working directory. */
  inventory: z.strictObject({
    name: z.string(),
    file: z.string(),
    salt: z.string(),
    hash: z.string(),
    /** What commands printed about hosts: the run that follows the plan does not ask them again. */
    said: z.record(z.string(), z.string()).optional(),
  }),
  /** The options that narrowed the plan. The run that follows it uses the same ones. */
  chosen: z.strictObject({
    roles: z.array(z.string()),
    skippedRoles: z.array(z.string()),
    startAt: z.string().optional(),
    set: z.array(z.string()),
    assumedStopped: z.array(z.string()).default([]),
    own: z.record(z.string(), z.string()).default({}),
  }),
  hosts: z.array(z.strictObject({ host: z.string(), tasks: z.array(task) })),
});

/** A saved plan: `--check --out FILE` writes it, `--plan FILE` follows it. */
export type SavedPlan = z.output<typeof schema>;
type SavedTask = z.output<typeof task>;
type SavedStep = z.output<typeof savedStep>;

/** The origin of a plan. */
export type PlanOrigin = Pick<SavedPlan, 'playbook' | 'chosen'> & { readonly inventory: Inventory<unknown> };

/**
 * @param now milliseconds since 1970
 */
export function makePlan(
  plans: readonly HostPlan[],
  { playbook, chosen, inventory }: PlanOrigin,
  now: number,
): SavedPlan {
  const salt = randomBytes(16).toString('hex');
  const key = contentKey(inventory, salt);
  return {
    format: 2,
    version: programVersion(),
    made: new Date(now).toISOString(),
    playbook,
    inventory: {
      name: inventory.name,
      file: inventory.file,
      salt,
      hash: fingerprint(inventory, salt),
      ...(inventory.said && { said: { ...inventory.said } }),
    },
    chosen,
    hosts: plans.map(({ host, tasks }) => ({ host, tasks: tasks.flatMap((each) => savedTask(each, key)) })),
  };
}

function savedTask(
  { task, outcome, predicted, differences, note, steps }: Planned,
  key: Buffer,
): SavedTask[] {
  if (outcome !== 'pending' && outcome !== 'unknown') return [];
  const { play, role, resource } = shownTask(task);
  // Without secrets already here: a plan in its file is compared with one that is just made.
  const shown = differences.map(({ what, was, wanted }) => ({
    what: redact(what),
    was: redact(was),
    wanted: redact(wanted),
  }));
  return [
    {
      ...{ play, role, resource, outcome, predicted, differences: shown },
      ...(note !== undefined && { note: redact(note) }),
      ...(steps && { steps: steps.map((each) => stepOf(each, key)) }),
    },
  ];
}

/** The title of a task may have a value of the inventory in it. */
function shownTask({ play, role, resource }: Pick<Task, 'play' | 'role' | 'resource'>) {
  return { play, role, resource: redact(resource) };
}

/** A step as it is saved: with everything that is sent to the host, and without a secret. */
function stepOf(step: Step, key: Buffer): SavedStep {
  const saved = (bytes: string | Buffer | Secret, secret = false) => contentOf(bytes, secret, key);
  switch (step.do) {
    case 'write':
      return {
        do: 'write',
        path: redact(step.path),
        content: saved(step.content, step.secret),
        attributes: step.attributes,
      };
    case 'rewrite':
      return { ...step, path: redact(step.path), content: saved(step.content) };
    case 'directory':
      return { ...step, path: redact(step.path) };
    case 'link':
      return { ...step, path: redact(step.path), target: redact(step.target) };
    case 'run': {
      const { command, stdin, timeoutSeconds, allow, rootsFolder } = step;
      return {
        do: 'run',
        command: saved(command),
        ...(stdin !== undefined && { stdin: saved(stdin) }),
        ...(timeoutSeconds !== undefined && { timeoutSeconds }),
        ...(allow && { allow: [...allow] }),
        ...(rootsFolder !== undefined && { rootsFolder }),
      };
    }
  }
}

function contentOf(given: string | Buffer | Secret, secret: boolean, key: Buffer): z.output<typeof content> {
  const bytes = Buffer.from(given instanceof Secret ? given.reveal() : given);
  const text = bytes.toString();
  if (secret || given instanceof Secret || redact(text) !== text) {
    return { secret: createHmac('sha256', key).update(bytes).digest('hex'), bytes: bytes.length };
  }
  return Buffer.from(text).equals(bytes) ? text : { base64: bytes.toString('base64') };
}

/** A slow hash of the whole inventory, with its passwords. */
function fingerprint(inventory: Inventory<unknown>, salt: string): string {
  return slowHash(inventory, salt).toString('hex');
}

/**
 * The key for the hashes of contents with secrets. It is not in the plan: who guesses a password
 * has to guess all of them at once.
 */
function contentKey(inventory: Inventory<unknown>, salt: string): Buffer {
  return slowHash(inventory, `${salt} contents`);
}

function slowHash(inventory: Inventory<unknown>, salt: string): Buffer {
  const all = JSON.stringify(inventory.hosts, function (this: Record<string, unknown>, key, value) {
    const given = this[key];
    return given instanceof Secret ? given.reveal() : value;
  });
  return scryptSync(all, salt, 32);
}

/** How a file of a plan is known. */
export const planOutput: Output = { what: 'a plan', begins: '{\n  "format": ' };

/**
 * Writes a plan with mode 0600, secrets redacted.
 *
 * @throws Problem where the file cannot be written
 */
export function savePlan(plan: SavedPlan, file: string): void {
  const text = JSON.stringify(plan, (_, value) => (typeof value === 'string' ? redact(value) : value), 2);
  writePrivateFile(file, `${text}\n`);
}

/**
 * Reads a plan.
 *
 * @throws Problem where the file is missing or is not a plan
 */
export async function loadPlan(file: string): Promise<SavedPlan> {
  const parsed = schema.safeParse(parseJson(textOf(file)));
  const hint = 'make a new one: --check --out FILE';
  if (parsed.success && parsed.data.hosts.length === 0)
    throw new Problem(`${file} is a plan without hosts`, { hint });
  if (parsed.success) return parsed.data;
  throw new Problem(`${file} is not a plan of this version`, { hint });
}

function textOf(file: string): string {
  try {
    return readBounded(file, largest).toString('utf8');
  } catch (error) {
    const hint = hintOfUnread(error) ?? 'make one: --check --out FILE';
    throw new Problem(`the plan "${file}" ${whyUnread(error)}`, { hint });
  }
}

const sameTask = (
  a: Pick<Task, 'play' | 'role' | 'resource'>,
  b: Pick<Task, 'play' | 'role' | 'resource'>,
): boolean => a.play === b.play && a.role === b.role && a.resource === b.resource;

/**
 * A function that says why a plan does not include a change: its task was neither pending nor
 * unknown, or it had other steps. A task without steps in the plan may have any: it was unknown, or
 * follows from other tasks.
 */
export function changesOf(
  plan: SavedPlan,
  inventory: Inventory<unknown>,
): NonNullable<RunOptions['refuses']> {
  const key = contentKey(inventory, plan.inventory.salt);
  return (task, change) => {
    const tasks = plan.hosts.find(({ host }) => host === task.host)?.tasks ?? [];
    const planned = tasks.find((each) => sameTask(each, shownTask(task)));
    if (!planned) return 'this is not in the plan';
    if (planned.outcome === 'unknown' || !planned.steps || change instanceof Problem) return undefined;
    const steps = (change ?? []).map((each) => stepOf(each, key));
    return isDeepStrictEqual(steps, planned.steps) ? undefined : 'its steps are not those of the plan';
  };
}

/**
 * Refuses a plan whose inventory is another one, or has changed. No host is needed for it.
 *
 * @throws Problem
 */
export function refuseOtherInventory(plan: SavedPlan, inventory: Inventory<unknown>): void {
  if (fingerprint(inventory, plan.inventory.salt) === plan.inventory.hash) return;
  throw new Problem(otherInventory(plan, inventory), { hint: 'make a new plan: --check --out FILE' });
}

/** Two versions may read one file in different ways: variables and their defaults change. */
function otherInventory(
  { version, made, inventory: { name } }: SavedPlan,
  { name: other, file }: Inventory<unknown>,
) {
  if (name !== other) return `this is a plan of the inventory ${name}, and ${other} is another one`;
  const now = programVersion();
  // Another folder may have an inventory of this name.
  if (version === now)
    return `${resolve(file)} is not the inventory ${name} of the plan, or has changed since the plan was made (${made})`;
  const by = version === undefined ? 'an earlier version' : `version ${version}`;
  return `${by} of the program made this plan (${made}), and this is ${now}: it reads the inventory ${name} in its own way`;
}

/**
 * Refuses a stale plan.
 *
 * @param now the plan as it is now
 * @throws Problems with each task that differs
 */
export function refuseStale(plan: SavedPlan, inventory: Inventory<unknown>, now: readonly HostPlan[]): void {
  const missing = plan.hosts
    .filter(({ host }) => !now.some((each) => each.host === host))
    .map(({ host }) => new Problem(`${host}: it is in the plan, and is unreachable now`));
  const failing = now.flatMap(({ tasks }) =>
    tasks
      .filter(({ outcome }) => outcome === 'failed')
      .map(({ task }) => new Problem(`${task.host}: ${task.role}: ${task.resource}: it fails now`)),
  );
  const key = contentKey(inventory, plan.inventory.salt);
  const problems = now.flatMap(({ host, tasks }) => {
    const before = checkedTasks(plan.hosts.find((each) => each.host === host)?.tasks ?? []);
    return differencesSince(host, before, checkedTasks(tasks.flatMap((each) => savedTask(each, key))));
  });
  const all = [...missing, ...failing, ...problems];
  if (all.length === 0) return;
  throw new Problems([
    ...all,
    new Problem('nothing was changed', { hint: 'make a new plan: --check --out FILE' }),
  ]);
}

/** A predicted task is not visible yet, so it cannot be compared. */
function checkedTasks(tasks: readonly SavedTask[]): SavedTask[] {
  return tasks.filter(({ predicted }) => !predicted);
}

function differencesSince(
  host: string,
  before: readonly SavedTask[],
  after: readonly SavedTask[],
): Problem[] {
  const since = 'since the plan was made';
  const gone = before
    .filter((task) => !after.some((each) => sameTask(each, task)))
    .map(({ role, resource }) => new Problem(`${host}: ${role}: ${resource}: ok or failing ${since}`));
  const others = after.flatMap((task) => {
    const was = before.find((each) => sameTask(each, task));
    const name = `${host}: ${task.role}: ${task.resource}`;
    if (!was) return [new Problem(`${name}: drifted ${since}`)];
    const { outcome, differences, note, steps } = task;
    if (!isDeepStrictEqual([was.outcome, was.differences, was.note], [outcome, differences, note]))
      return [new Problem(`${name}: its differences changed ${since}`)];
    return isDeepStrictEqual(was.steps, steps) ? [] : [new Problem(`${name}: its steps changed ${since}`)];
  });
  return [...gone, ...others];
}
