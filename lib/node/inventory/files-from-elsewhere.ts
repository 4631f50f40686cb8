import type { LoadedInventory } from '../../engine/inventory/load.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { fieldsOf } from '../../engine/text/keys.ts';
import type { RawVariables } from '../variables/variables.ts';

/** The variables that may be paths on this machine. */
const paths = [
  ['tls', 'ca'],
  ['gateway', 'tls', 'certificate'],
  ['snapshot', 'manifest'],
];

/** Variables that name files of this machine, and come from the output of a command. */
export function filesFromElsewhere({ hosts, placeOf }: LoadedInventory<RawVariables>): Problem[] {
  return hosts.flatMap(({ name, vars }) =>
    paths.flatMap((path) => {
      const value = path.reduce<unknown>((inner, key) => fieldsOf(inner)[key], vars);
      const where = placeOf(name, path);
      if (typeof value !== 'string' || /^\w+:\/\//.test(value) || !where.from) return [];
      const hint = 'name the file in the vars of the group, in the inventory';
      const what = `${path.join('.')} names a file of this machine, in the output of a command`;
      return new Problem(what, { where, hint });
    }),
  );
}
