import { ok, type Resource } from './resource.ts';

type Goal = Pick<Resource, 'check'>;

/**
 * A resource that is needed only to reach a goal, as an archive is needed to restore a database. Once the goal is reached, it is ok
 * whatever its state, and is not checked: a check that costs something is not made in vain.
 */
export function skipWhen(goal: Goal, resource: Resource): Resource {
  return {
    ...resource,
    async check(host) {
      const reached = await goal.check(host);
      return reached.is === 'ok' ? reached : resource.check(host);
    },
  };
}

/** A resource that something else serves as well, as another program does the same. Both are checked in one request. */
export function okWhen(other: Goal, resource: Resource): Resource {
  return {
    ...resource,
    async check(host) {
      const [verdict, served] = await Promise.all([resource.check(host), other.check(host)]);
      return served.is === 'ok' ? ok : verdict;
    },
  };
}
