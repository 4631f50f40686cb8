import type { Resource } from './resource.ts';

/**
 * Something that is needed only to reach a goal, as an archive is needed to restore a database: once the goal is reached it is fine
 * whatever its own state, so that it is not made again.
 */
export function skipWhen(goal: Pick<Resource, 'check'>, means: Resource): Resource {
  return {
    ...means,
    async check(host) {
      const reached = await goal.check(host);
      return reached.is === 'ok' ? reached : means.check(host);
    },
  };
}
