import { Problem } from '../../engine/problem/problem.ts';
import type { OwnValues, Playbook } from '../../engine/run/playbook.ts';
import { didYouMean } from '../../engine/text/suggest.ts';
import type { InventorySource } from './choose-hosts.ts';

/** The playbook with the hosts that its own options name. */
export function withOwnHosts<V>(template: Playbook<V>, given: OwnValues): Playbook<V> {
  const filled = (hosts: string) => hosts.replace(/\{(\w+)\}/g, (_, name: string) => String(given[name]));
  return { ...template, plays: template.plays.map((play) => ({ ...play, hosts: filled(play.hosts) })) };
}

/**
 * Refuses an inventory without the group that the playbook needs, and a host that an own option
 * names and that is not in its group.
 */
export function refuseOtherHosts<V>(
  { name: verb, options, needsGroup: needed }: Playbook<V>,
  given: OwnValues,
): NonNullable<InventorySource<V>['refuse']> {
  return ({ name, hosts }) => {
    if (needed && !hosts.some(({ groups }) => groups.includes(needed.name))) {
      throw new Problem(`${verb} needs a host in group ${needed.name}, and ${name} has none`, {
        hint: needed.hint,
      });
    }
    for (const [option, said] of Object.entries(given)) {
      const groups = options[option]?.group?.split(',');
      const known = hosts.flatMap((host) =>
        groups?.some((group) => host.groups.includes(group)) ? [host.name] : [],
      );
      if (!groups || known.includes(said)) continue;
      const what = `--${option}: ${name} has no host "${said}" in group ${groups.join(' or ')}`;
      throw new Problem(what, { hint: didYouMean(said, known) });
    }
  };
}
