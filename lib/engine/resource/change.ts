import type { Difference, Resource } from './resource.ts';

// Names of what resources change, as `changes` and `follows` of others have them.

export const fileChange = (path: string): string => `file ${path}`;
export const unitChange = (unit: string): string => `unit ${unit}`;
export const containerChange = (container: string): string => `container ${container}`;

const attributes = ['mode', 'owner', 'group'];

/** What reads a file need not read it again when only its attributes change. */
export function changesOfFile(path: string): (differences: readonly Difference[]) => readonly string[] {
  return (differences) => (differences.every(({ what }) => attributes.includes(what)) ? [] : [fileChange(path)]);
}

/** What a look at a container's program shows is not the same after the container has changed. */
export function checkedAgainAfter(resource: Resource, container: string): Resource {
  return { ...resource, follows: [{ what: containerChange(container), effect: 'is looked at again', certain: true }] };
}
