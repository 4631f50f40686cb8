import type { Progress } from '../host/host.ts';
import type { Session } from '../host/session.ts';
import { Failure } from '../problem/problem.ts';
import { type Resource, stepsThatEnd } from './resource.ts';

/**
 * Checks a resource and ends its drift: by a request with its change, and by its work.
 *
 * @throws the Problem or the error of the change or of the work
 */
export async function applyDrift(
  { reader, makeChanges, writerFor }: Pick<Session, 'reader' | 'makeChanges' | 'writerFor'>,
  resource: Resource,
  onProgress: (progress: Progress) => void = () => {},
): Promise<void> {
  const seen = await resource.check(reader);
  if (seen.is === 'ok') return;
  const steps = stepsThatEnd(resource, seen);
  if (steps.length > 0) {
    const { error, outdated } = await makeChanges([{ steps }]).ended;
    if (error !== undefined) throw error;
    if (outdated !== undefined) throw new Failure(outdated);
  }
  await resource.work?.(writerFor(onProgress));
}
