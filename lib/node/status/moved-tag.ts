import type { HostStatus } from './host.ts';
import { note } from './judge.ts';

/**
 * Adds a note to each container whose image has the name, but not the id, of one that was seen
 * earlier. The tag has moved in the registry, or a rollback gave the name to another image.
 */
export function withMovedTags(statuses: readonly HostStatus[]): HostStatus[] {
  const first = new Map<string, { readonly host: string; readonly id: string }>();
  return statuses.map((status) => {
    const notes = Object.entries(status.state?.containers ?? {}).flatMap(([name, service]) => {
      if (!service) return [];
      const known = first.get(service.image) ?? { host: status.host, id: service.imageId };
      first.set(service.image, known);
      if (known.id === service.imageId) return [];
      const words = `${service.image} is another image here than on ${known.host}: its tag has moved, or one of them was rolled back; a digest in images.* prevents that`;
      return [note('moved-tag', name, words, { image: service.image, elsewhere: known.host })];
    });
    return notes.length === 0 ? status : { ...status, findings: [...status.findings, ...notes] };
  });
}
