import type { Reader } from '../../engine/host/host.ts';
import {
  describeVerdict,
  drift,
  type EveryHost,
  ok,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { noSynchronizerOn } from '../chain/synchronizers.ts';
import { addressesOf, varsOf } from '../variables/hosts.ts';
import type { Variables } from '../variables/variables.ts';
import { type Answer, type Position, readPosition } from './position.ts';
import { serverState, type WithData } from './server-state.ts';

const emptied =
  'it has no data directory of state-db any more. If its data is lost, shut it down, and name it by --assume-stopped';

/** The server that is promoted, with which each other host is compared. */
interface NewServer extends Position {
  /** The host that it follows. */
  readonly former: string | undefined;
  /** Whether that host could not be checked, and is assumed to be stopped. */
  readonly isFormerUnseen: boolean;
}

/**
 * The condition of a promotion: no other server accepts writes, or has log that the promoted one
 * lacks.
 */
export function nobodyHasMore({ host: own, hosts, vars }: Context<Variables>): EveryHost {
  return {
    name: `no other server accepts writes, or has what ${own.name} lacks`,
    check: async (host, unseen, reach) => {
      const target = reach(own.name);
      const [synchronizer, position] = await Promise.all([
        noSynchronizerOn(host, false),
        target && readPosition(target, vars),
      ]);
      if (!position || 'error' in position) return unknownUntil(`state-db of ${own.name} answers SQL`);
      const former = formerServer(hosts, position);
      const newServer = {
        ...position,
        former,
        isFormerUnseen: former !== undefined && unseen.includes(former),
      };
      if (synchronizer.is === 'drift') {
        if (host.name === former) return unknownUntil('the former server has ended');
        return drift(describeVerdict(synchronizer));
      }
      if (host.name === own.name) return receivesNothing(newServer);
      return compared(host, varsOf(hosts, host), newServer);
    },
    hint: 'this playbook stops the former server first. It must be reachable, or --assume-stopped has to name it. If another replica has more, switch to that one',
  };
}

/**
 * The host that a server follows.
 *
 * @returns its name; undefined where the server follows none, or none of the inventory
 */
export function formerServer(
  hosts: Context<Variables>['hosts'],
  { source = '' }: Pick<Position, 'source'>,
): string | undefined {
  return hosts.find((host) => [host.connection.address, ...addressesOf(host)].includes(source))?.name;
}

/** A server that is assumed to be stopped sends nothing. */
function receivesNothing({ former, isFormerUnseen, receives }: NewServer): Verdict {
  return former !== undefined && isFormerUnseen && receives ? stillReceivesFrom(former) : ok;
}

/**
 * Whether another host has more than the new server.
 *
 * @param vars of that host: its data may be in a folder of its own
 */
async function compared(host: Reader, vars: Variables, newServer: NewServer): Promise<Verdict> {
  const [state, container, position] = await Promise.all([
    serverState(host, vars),
    host.container('state-db'),
    readPosition(host, vars),
  ]);
  const isFormer = host.name === newServer.former;
  if (state.kind === 'none') return isFormer ? drift(emptied) : ok;
  if (state.kind === 'unreadable') return drift(state.why);
  if (state.kind === 'primary') {
    return isFormer
      ? unknownUntil('the former server is a replica')
      : drift('its state-db may accept writes');
  }
  if (container?.running) return runningHasNoMore(position, newServer);
  return isFormer ? endedHasNoMore(state, newServer) : stoppedReplicaHasNoMore(newServer);
}

/** A replica that runs says what it has. */
function runningHasNoMore(position: Answer, newServer: NewServer): Verdict {
  if ('error' in position) return drift(`its state-db does not answer: ${position.error}`);
  const { former, isFormerUnseen, replayed, block } = newServer;
  if (position.receives && former !== undefined && isFormerUnseen) return stillReceivesFrom(former);
  if (position.has <= replayed) return ok;
  const more = position.block - block;
  return drift(`it has ${more > 0 ? `${more} blocks` : `${position.has - replayed} bytes of log`} more`);
}

/** The checkpoint of a clean end is the last record of the log of the former server. */
function endedHasNoMore({ isClean, checkpoint }: WithData, { replayed }: NewServer): Verdict {
  if (!isClean) return drift('its state-db did not end cleanly');
  return checkpoint < replayed
    ? ok
    : drift(`it has log up to ${checkpoint}, and the new server has replayed ${replayed}`);
}

/**
 * A replica cannot have more log than the former server, which is checked. If that one is not
 * checked, a stopped replica could have more: its checkpoint is not the end of its log.
 */
function stoppedReplicaHasNoMore({ former, isFormerUnseen }: NewServer): Verdict {
  return former === undefined || isFormerUnseen
    ? drift('its state-db does not run, and may have more log: start it')
    : ok;
}

function stillReceivesFrom(server: string): Verdict {
  return drift(`it still receives log from ${server}, which runs`);
}
