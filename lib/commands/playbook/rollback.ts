import type { Session } from '../../engine/host/session.ts';
import type { InventoryHost } from '../../engine/inventory/inventory.ts';
import { task } from '../../engine/resource/resource.ts';
import { type Role, role } from '../../engine/resource/role.ts';
import type { OwnOption, Play, Playbook } from '../../engine/run/playbook.ts';
import { type PutBack, putBack, type Released } from '../../node/release/rollback.ts';
import { databaseHost } from '../../node/variables/hosts.ts';
import type { Variables } from '../../node/variables/variables.ts';
import { type Dependencies, main } from './command.ts';

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
 * Runs a playbook on hosts as one of their releases has them: its roles make their resources from
 * the release's files and images. The first role of a host whose release cannot be put back fails
 * with the reason.
 *
 * @param dependencies as for `main`
 */
export function rollback(
  playbook: Playbook<Variables>,
  args: readonly string[],
  dependencies: Dependencies<Variables>,
) {
  let hosts: readonly Host[] = [];
  const { plays, open } = onReleases(playbook.plays, () => hosts);
  return main({ ...playbook, plays, options: rollbackOptions }, args, {
    ...dependencies,
    async load(...given) {
      const inventory = await dependencies.load(...given);
      hosts = inventory.hosts;
      return inventory;
    },
    open: (host, options) => {
      const { to } = options.own;
      return open(
        host,
        (each) => dependencies.open(each, options),
        to === undefined ? undefined : Number(to),
      );
    },
  });
}

/**
 * Runs a playbook. With `gateway.rollback: auto`, hosts that a failed change has left out of
 * service get their current release back.
 *
 * @param plays of that rollback. @param dependencies as for `main`
 */
export function runOrPutBack(
  playbook: Playbook<Variables>,
  plays: readonly Play<Variables>[],
  args: readonly string[],
  dependencies: Dependencies<Variables>,
) {
  return main(playbook, args, {
    ...dependencies,
    putBack({ hosts }, connect) {
      const isAuto = hosts.some(
        ({ groups, vars }) => groups.includes('gateway') && vars.gateway.rollback === 'auto',
      );
      if (!isAuto || plays.length === 0) return undefined;
      const { plays: released, open, refusalOf } = onReleases(plays, () => hosts);
      return {
        playbook: { ...playbook, name: 'rollback', plays: released },
        open: (host) => open(host, connect, 'current'),
        async refusal(host) {
          const session = await open(host, connect, 'current');
          await session.close();
          return refusalOf(host);
        },
      };
    },
  });
}

/** Plays whose roles see each host as its release has it, and how to connect to that host. */
function onReleases(plays: readonly Play<Variables>[], hosts: () => readonly Host[]) {
  const released = new Map<string, Released | { readonly error: unknown }>();
  return {
    plays: plays.map((play) => ({ ...play, roles: play.roles.map((each) => onRelease(each, released)) })),
    /** Why the release of a host cannot be put back, once the host was opened. */
    refusalOf({ name }: Host): unknown {
      const found = released.get(name);
      return found && 'error' in found ? found.error : undefined;
    },
    async open(host: Host, connect: (host: Host) => Promise<Session>, to: PutBack['to']): Promise<Session> {
      const session = await connect(host);
      const onDatabase: PutBack['onDatabase'] = async (read) => {
        const other = await connect(databaseHost(hosts()));
        return read(other.reader).finally(() => other.close());
      };
      const asked = { host, hosts: hosts(), reader: session.reader, onDatabase, to };
      released.set(host.name, await putBack(asked).catch((error: unknown) => ({ error })));
      return session;
    },
  };
}

/**
 * A role of a rollback. Each play with one begins with a role that holds the reason of a refusal.
 */
function onRelease(
  { name, resources }: Role<Variables>,
  released: ReadonlyMap<string, Released | { readonly error: unknown }>,
): Role<Variables> {
  return role(name, (context) => {
    const found = released.get(context.host.name);
    if (!found) return resources(context);
    if (!('error' in found)) return resources({ ...context, ...found, vars: found.host.vars });
    const refused = task('a release can be put back', { check: () => Promise.reject(found.error) });
    return name === 'one-synchronizer' ? [refused] : [];
  });
}
