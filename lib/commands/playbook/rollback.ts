import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { task } from '../../engine/resource/resource.ts';
import { type Role, role } from '../../engine/resource/role.ts';
import type { OwnOption, Playbook } from '../../engine/run/playbook.ts';
import { putBack } from '../../node/release/rollback.ts';
import { databaseHost } from '../../node/variables/hosts.ts';
import type { Variables } from '../../node/variables/variables.ts';
import { main } from './command.ts';

type Host = InventoryHost<Variables>;

/** Beside those of every playbook. */
export const rollbackOptions: Readonly<Record<string, OwnOption>> = {
  to: {
    value: 'NUMBER',
    help: 'put this release back, on every host of the run (default: the one before)',
    form: { pattern: /^[1-9]\d{0,5}$/, words: 'must be the number of a release, as history.mjs shows it' },
  },
};

/**
 * Runs a playbook on hosts as one of their releases has them: its roles make their resources from the release's files and images. The
 * first role of a host whose release cannot be put back fails with the reason.
 *
 * @param dependencies as for `main`
 */
export function rollback(
  playbook: Playbook<Variables>,
  args: readonly string[],
  dependencies: Parameters<typeof main<Variables>>[2],
): Promise<void> {
  const released = new Map<string, Host | { readonly error: unknown }>();
  let hosts: readonly Host[] = [];
  const plays = playbook.plays.map((play) => ({ ...play, roles: play.roles.map((each) => onRelease(each, released)) }));
  return main({ ...playbook, plays, options: rollbackOptions }, args, {
    ...dependencies,
    async load(...given) {
      const inventory = await dependencies.load(...given);
      hosts = inventory.hosts;
      return inventory;
    },
    async open(host, options) {
      const session = await dependencies.open(host, options);
      const onDatabase = async <T>(read: (reader: typeof session.reader) => Promise<T>) => {
        const other = await dependencies.open(databaseHost(hosts), options);
        return read(other.reader).finally(() => other.close());
      };
      const asked = {
        host,
        hosts,
        reader: session.reader,
        onDatabase,
        to: options.own.to === undefined ? undefined : Number(options.own.to),
      };
      released.set(host.name, await putBack(asked).catch((error: unknown) => ({ error })));
      return session;
    },
  });
}

/** A role of a rollback. Each play with one begins with a role that holds the reason of a refusal. */
function onRelease(
  { name, resources }: Role<Variables>,
  released: ReadonlyMap<string, Host | { readonly error: unknown }>,
): Role<Variables> {
  return role(name, (context) => {
    const host = released.get(context.host.name);
    if (!host) return resources(context);
    if (!('error' in host)) return resources({ ...context, host, vars: host.vars });
    const refused = task('a release can be put back', { check: () => Promise.reject(host.error) });
    return name === 'one-synchronizer' ? [refused] : [];
  });
}
