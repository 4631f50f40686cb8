import type { RunEvent } from '../run/events.ts';
import { redact } from '../secret/secret.ts';
import { describeError } from './describe-error.ts';

/** Raised when a field changes its meaning or goes; a new field does not raise it. */
export const eventFormat = 1;

/**
 * One event as one line of JSON (see docs/events.md): flat, with the time at which it was told, in no field a secret.
 *
 * @param at milliseconds since 1970
 */
export function eventLine(event: RunEvent, at: number): string {
  const { type, ...told } = event;
  const fields = { format: eventFormat, time: new Date(at).toISOString(), type, ...flat(told) };
  return JSON.stringify(fields, (_, value) => (typeof value === 'string' ? redact(value) : value));
}

/** The parts of an event beside its type; a step and progress are no parts of their own, and an error is what it says. */
function flat(told: object): object {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(told)) {
    if (value === undefined) continue;
    if (name === 'step' || name === 'progress') Object.assign(fields, value);
    else if (name === 'error') fields.error = describeError(value);
    else fields[name] = value;
  }
  return fields;
}
