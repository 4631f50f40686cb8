import { resolve } from 'node:path';
import { isInventoryPath } from '../../engine/inventory/outline.ts';
import { Problem } from '../../engine/problem/problem.ts';
import type { SavedPlan } from '../../engine/run/saved-plan.ts';
import { type Options, parseSet, refuseUnknownRoles } from './options.ts';

/** The options that narrow a run, as a saved plan keeps them. */
export function narrowing({
  roles,
  skippedRoles,
  startAt,
  set,
  assumedStopped,
  own,
}: Options): SavedPlan['chosen'] {
  const chosen = {
    roles: [...roles],
    skippedRoles: [...skippedRoles],
    set: set.map(({ said }) => said),
    assumedStopped: [...assumedStopped],
    own,
  };
  return startAt === undefined ? chosen : { ...chosen, startAt };
}

/**
 * An inventory as every working directory finds it: its name in the project, or an absolute path.
 *
 * @param given that of `--inventory`
 */
export function lastingName(given: string | undefined, file: string): string {
  return given === undefined || isInventoryPath(given) ? resolve(file) : given;
}

/**
 * The options of a run that follows a plan: narrowed as the plan was.
 *
 * @throws Problem for a plan of another playbook
 */
export function asPlanned(
  given: Options,
  plan: SavedPlan,
  playbook: string,
  roleNames: readonly string[],
): Options {
  if (plan.playbook !== playbook) {
    throw new Problem(`this is a plan of the playbook ${plan.playbook}`, {
      hint: `follow it with that playbook: npx zx playbooks/${plan.playbook}.mjs --plan FILE`,
    });
  }
  const { roles, skippedRoles, startAt, set, assumedStopped, own } = plan.chosen;
  refuseUnknownRoles([...roles, ...skippedRoles], roleNames);
  const inventory = given.inventory ?? plan.inventory.file;
  return { ...given, inventory, roles, skippedRoles, startAt, set: set.map(parseSet), assumedStopped, own };
}
