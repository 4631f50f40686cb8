import type { Difference, Resource } from './resource.ts';

// The changes of resources, in the words of `changes` and `follows`.

export const fileChange = (path: string): string => `file ${path}`;
export const unitChange = (unit: string): string => `unit ${unit}`;
export const containerChange = (container: string): string => `container ${container}`;

const attributes = ['mode', 'owner', 'group'];

/** A change of the attributes alone does not matter to the readers of a file. */
export function changesOfFile(path: string): (differences: readonly Difference[]) => readonly string[] {
  return (differences) => (differences.every(({ what }) => attributes.includes(what)) ? [] : [fileChange(path)]);
}

/** A check of the program in a container is outdated after a change of the container. */
export function checkedAgainAfter<R extends Resource>(resource: R, container: string): R {
  return { ...resource, follows: [{ what: containerChange(container), effect: 'is checked again', certain: true }] };
}
