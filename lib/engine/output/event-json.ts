import type { RunEvent } from '../run/events.ts';
import { redact } from '../secret/secret.ts';
import { describeError } from './describe-error.ts';

/** Increased when a field changes its meaning or is removed; not for a new field. */
export const eventFormat = 1;

/**
 * An event as one line of JSON (docs/events.md): flat, with its time, secrets redacted.
 *
 * @param at milliseconds since 1970
 */
export function eventLine(event: RunEvent, at: number): string {
  const { type, ...rest } = event;
  const fields = { format: eventFormat, time: new Date(at).toISOString(), type, ...flat(rest) };
  return JSON.stringify(fields, (_, value) => (typeof value === 'string' ? redact(value) : value));
}

/**
 * The fields of an event except its type. The fields of `task` and `progress` are merged in; an
 * error becomes its text.
 */
function flat(event: object): object {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(event)) {
    if (value === undefined) continue;
    if (name === 'task' || name === 'progress') Object.assign(fields, value);
    else if (name === 'error') fields.error = describeError(value);
    else fields[name] = value;
  }
  return fields;
}
