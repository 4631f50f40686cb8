import * as z from 'zod';
import type { ContainerState } from '../../engine/host/host.ts';
import { versionOf } from '../variables/generation.ts';
import type { Variables } from '../variables/variables.ts';

/**
 * The part of `docker inspect` that is used: its first word is the node's binary, whose name
 * differs by generation.
 */
const inspected = z.object({ Config: z.object({ Cmd: z.array(z.string()) }) });

/** The image of a container that runs another version of the node, or undefined. */
export function otherVersion(state: ContainerState | undefined, vars: Variables): string | undefined {
  return state?.running && !isOfThisVersion(state, vars) ? state.image : undefined;
}

/**
 * The same version in another registry has the same migrations. Both generations may have one tag,
 * such as `latest`.
 */
export function isOfThisVersion({ image, raw }: ContainerState, { images, node_binary }: Variables): boolean {
  const binary = inspected.safeParse(raw).data?.Config.Cmd[0];
  return versionOf(image) === versionOf(images.node) && (binary === undefined || binary === node_binary);
}
