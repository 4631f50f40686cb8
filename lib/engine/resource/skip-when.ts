import { ok, type Resource } from './resource.ts';

type Goal = Pick<Resource, 'check'>;

/**
 * A resource that is needed only to reach a goal, such as an archive to restore a database. Once
 * the goal is reached, the resource is ok in any state and is not checked: that saves an expensive
 * check.
 *
 * @example skipWhen(databaseIsRestored, packages('golang'))
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

/**
 * A resource with a substitute, such as another program for the same purpose. Both are checked in
 * one request.
 *
 * @example okWhen(timesyncdIsEnough, service('chrony'))
 */
export function okWhen(other: Goal, resource: Resource): Resource {
  return {
    ...resource,
    async check(host) {
      const [verdict, served] = await Promise.all([resource.check(host), other.check(host)]);
      return served.is === 'ok' ? ok : verdict;
    },
  };
}
