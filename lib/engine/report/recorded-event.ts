import * as z from 'zod';
import { eventFormat } from '../output/event-json.ts';
import { parseJson } from '../text/parse-json.ts';

const task = { host: z.string(), play: z.string(), role: z.string(), resource: z.string() };

/** Seconds. No run takes longer, and dates can be computed with it. */
const duration = z.number().min(0).max(1e10);

/** The number of tasks that are not done on a host that stopped, and the first of them. */
const left = { left: z.number().optional(), next: z.string().optional() };

const hostSummary = z.looseObject({
  host: z.string(),
  counts: z.record(z.string(), z.number()),
  seconds: duration,
  unreachable: z.boolean(),
  roundTrips: z.number(),
  stopped: z.string().optional(),
  ...left,
});

/** The fields of each event (docs/events.md) that a report reads. An event may have others. */
const fields = {
  'run-started': {
    playbook: z.string(),
    inventory: z.string(),
    check: z.boolean(),
    hosts: z.array(z.string()),
  },
  'host-connected': { host: z.string(), seconds: duration },
  'host-looked': { host: z.string(), tasks: z.number() },
  'host-unreachable': { host: z.string(), error: z.string() },
  'lock-awaited': { host: z.string(), holder: z.string(), most: duration },
  'locks-taken': { seconds: duration },
  'play-started': { play: z.string(), hosts: z.array(z.string()) },
  'play-skipped': { play: z.string(), why: z.string() },
  'resource-started': task,
  progress: {
    ...task,
    what: z.string(),
    done: z.number().optional(),
    total: z.number().optional(),
    unit: z.enum(['bytes', 'rows', 'seconds']).optional().catch(undefined),
  },
  'resource-done': {
    ...task,
    outcome: z.string(),
    differences: z.array(z.looseObject({ what: z.string(), was: z.string(), wanted: z.string() })),
    seconds: duration,
    note: z.string().optional(),
    error: z.string().optional(),
    commands: z.array(z.string()).default([]),
  },
  'host-stopped': { host: z.string(), play: z.string(), why: z.string(), ...left },
  stopping: {},
  'run-failed': { error: z.string() },
  'run-finished': {
    hosts: z.array(hostSummary),
    seconds: duration,
    interrupted: z.boolean(),
    declined: z.boolean().default(false),
  },
} as const;

type Fields = typeof fields;

/** One line of a record. `time` is milliseconds since 1970. */
export type RecordedEvent = {
  [T in keyof Fields]: { readonly type: T; readonly time: number } & Readonly<
    z.output<z.ZodObject<Fields[T]>>
  >;
}[keyof Fields];

/** The event of one type. */
export type Recorded<T extends RecordedEvent['type']> = Extract<RecordedEvent, { type: T }>;

const head = z.looseObject({ format: z.number(), time: z.iso.datetime(), type: z.string() });

const schemas = new Map(Object.entries(fields).map(([type, shape]) => [type, z.looseObject(shape)]));

/**
 * One line of a record as an event.
 *
 * @returns undefined for an unknown type of event, as a later version may write
 * @throws Error with one sentence about the fault of the line
 */
export function parseEvent(line: string): RecordedEvent | undefined {
  const value = parseJson(line);
  if (value === undefined) throw new Error('this line is not JSON');
  const { format, time, type } = checked(head, value);
  if (format !== eventFormat)
    throw new Error(`this event has format ${format}; only format ${eventFormat} is supported`);
  const schema = schemas.get(type);
  return schema && ({ ...checked(schema, value), time: Date.parse(time) } as unknown as RecordedEvent);
}

function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const [issue] = error.issues;
  const where = issue?.path.join('.');
  throw new Error(
    `this line is not an event: ${where ? `${where}: ` : ''}${issue?.message ?? 'it is not as it should be'}`,
  );
}

/** The first event of a type, optionally of one host. */
export function eventOf<T extends RecordedEvent['type']>(
  events: readonly RecordedEvent[],
  type: T,
  host?: string,
) {
  return events.find(
    (event): event is Recorded<T> =>
      event.type === type && (host === undefined || ('host' in event && event.host === host)),
  );
}
