import * as z from 'zod';

/** Events as a record has them (docs/events.md), as far as a report reads them. Fields it does not know may be there. */

const step = { host: z.string(), play: z.string(), role: z.string(), resource: z.string() };

const difference = z.looseObject({ what: z.string(), was: z.string(), wanted: z.string() });

/** Of a host that stopped: how many tasks are not done, and the first of them. */
const left = { left: z.number().optional(), next: z.string().optional() };

const hostSummary = z.looseObject({
  host: z.string(),
  counts: z.record(z.string(), z.number()),
  seconds: z.number(),
  unreachable: z.boolean(),
  roundTrips: z.number(),
  stopped: z.string().optional(),
  ...left,
});

const told = {
  'run-started': { playbook: z.string(), inventory: z.string(), check: z.boolean(), hosts: z.array(z.string()) },
  'host-connected': { host: z.string(), seconds: z.number() },
  'host-looked': { host: z.string(), tasks: z.number() },
  'host-unreachable': { host: z.string(), error: z.string() },
  'play-started': { play: z.string(), hosts: z.array(z.string()) },
  'play-skipped': { play: z.string(), why: z.string() },
  'resource-started': step,
  progress: {
    ...step,
    what: z.string(),
    done: z.number().optional(),
    total: z.number().optional(),
    unit: z.enum(['bytes', 'rows', 'seconds']).optional().catch(undefined),
  },
  'resource-done': {
    ...step,
    outcome: z.string(),
    differences: z.array(difference),
    seconds: z.number(),
    note: z.string().optional(),
    error: z.string().optional(),
    commands: z.array(z.string()).default([]),
  },
  'host-stopped': { host: z.string(), play: z.string(), why: z.string(), ...left },
  stopping: {},
  'run-failed': { error: z.string() },
  'run-finished': { hosts: z.array(hostSummary), seconds: z.number(), interrupted: z.boolean() },
} as const;

type Told = typeof told;

/** One line of a record. `time` is milliseconds since 1970. */
export type RecordedEvent = {
  [T in keyof Told]: { readonly type: T; readonly time: number } & Readonly<z.output<z.ZodObject<Told[T]>>>;
}[keyof Told];

/** The event of one type. */
export type Recorded<T extends RecordedEvent['type']> = Extract<RecordedEvent, { type: T }>;

const head = z.looseObject({ format: z.number(), time: z.iso.datetime(), type: z.string() });

const schemas = new Map<string, z.ZodType>(
  Object.entries(told).map(([type, fields]) => [
    type,
    z.looseObject({ time: z.string(), type: z.string(), ...fields }),
  ]),
);

/** The format that is read: `eventFormat` of what writes it. */
const readFormat = 1;

/**
 * One line of a record as an event.
 *
 * @returns undefined for a type of event that is not known: a later version may tell more
 * @throws Error that says in one sentence what is wrong with the line
 */
export function parseEvent(line: string): RecordedEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error('this line is not JSON');
  }
  const { format, time, type } = checked(head, value);
  if (format !== readFormat)
    throw new Error(`this event is of format ${format}, and only format ${readFormat} is known`);
  const schema = schemas.get(type);
  if (!schema) return undefined;
  return { ...(checked(schema, value) as object), time: Date.parse(time) } as RecordedEvent;
}

function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join('.');
  throw new Error(
    `this line is no event: ${where ? `${where}: ` : ''}${issue?.message ?? 'it is not as it should be'}`,
  );
}
