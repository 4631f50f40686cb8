import { makeChanges } from '../../host/changes/make-changes.ts';
import type { Connection } from '../../host/connection.ts';
import type { Facts } from '../../host/facts/facts.ts';
import type { Writer } from '../../host/host.ts';
import type { Session } from '../../host/session.ts';
import type { Step } from '../../host/step.ts';
import { createWriter } from '../../host/writer.ts';
import { applyDrift as applyDriftIn } from '../apply-drift.ts';
import type { Resource } from '../resource.ts';

/** A host for tests, with all that the engine does with one. */
export interface TestHost extends Writer, Pick<Session, 'makeChanges'> {}

/** A host at the other end of a connection. */
export function hostOver(connection: Connection): TestHost {
  return {
    ...createWriter(connection, connection.name, { onProgress: () => {} }),
    makeChanges: (changes, options) => makeChanges(connection, connection.name, changes, options),
  };
}

export function sessionOf(host: TestHost, facts = {} as Facts): Session {
  return {
    reader: host,
    facts,
    recording: () => host,
    makeChanges: (changes, options) => host.makeChanges(changes, options),
    writerFor: () => host,
    roundTrips: () => 0,
    close: async () => {},
  };
}

/** Checks a resource and ends its drift, as in `../apply-drift.ts`. */
export function applyDrift(host: TestHost, resource: Resource): Promise<void> {
  return applyDriftIn(sessionOf(host), resource);
}

/**
 * Makes steps as one change.
 *
 * @returns false where another program has changed the file that a step rewrites
 * @throws the error of a step
 */
export async function makeSteps(host: TestHost, ...steps: readonly Step[]) {
  const { made, error } = await host.makeChanges([{ steps }]).ended;
  if (error !== undefined) throw error;
  return made === 1;
}
