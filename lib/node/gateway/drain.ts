import type { Progress, Reader, Writer } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { Failure } from '../../engine/problem/problem.ts';
import { pause } from '../../engine/resource/job/pause.ts';
import {
  containerChange,
  drift,
  driftOf,
  ok,
  type Resource,
  unitChange,
  type Work,
} from '../../engine/resource/resource.ts';
import type { Turns } from '../../engine/run/rolling.ts';
import { hasFormer } from '../variables/rotation.ts';
import type { Variables } from '../variables/variables.ts';
import { type FleetHost, readFleet } from './fleet.ts';
import { drainedFolder, gatewayProgram } from './paths.ts';

type Gateway = Variables['gateway'];

/**
 * The reason of an RPC host that is out for its turn in a run. templates/gateway/fleet.lua knows
 * it, too.
 */
const turnReason = 'its turn in a run';

/**
 * How long the others may take to serve again before a host leaves, for example after their own
 * turn. Seconds.
 */
const othersWithin = 60;
/**
 * After a start, json-rpc is well within seconds, for it reads a database that is there. Seconds.
 */
const wellWithin = 300;
/** HAProxy acts on a drained host within a second, and ends cut connections at once. Seconds. */
const actsWithin = 10;

/** What a gateway knows of an RPC host. */
interface State {
  /** Why it is drained there; undefined for one that is not. */
  readonly mark: string | undefined;
  readonly found: FleetHost | undefined;
  /** All RPC hosts that the gateway knows. */
  readonly all: readonly FleetHost[];
}

async function stateOf(at: Reader, name: string, { metrics }: Gateway): Promise<State> {
  const [fleet, mark] = await Promise.all([readFleet(at, metrics), at.read(`${drainedFolder}/${name}`)]);
  const all = fleet.ok ? fleet.value.hosts : [];
  return { mark: mark?.toString().trim(), found: all.find(({ host }) => host === name), all };
}

/**
 * Looks at a host again and again.
 *
 * @param waitsFor what the wait is for, after some seconds; undefined ends it
 */
async function wait(
  at: Writer,
  name: string,
  gateway: Gateway,
  waitsFor: (state: State, seconds: number) => Promise<Progress | undefined>,
): Promise<void> {
  const started = performance.now();
  for (;;) {
    const state = await stateOf(at, name, gateway);
    const progress = await waitsFor(state, (performance.now() - started) / 1000);
    if (!progress) return;
    at.progress(progress);
    await pause(at, 0.5);
  }
}

/**
 * An RPC host gets no requests by this gateway, and none of its connections is left. One that is
 * drained already stays so.
 */
export function drained(title: string, name: string, reason: string, gateway: Gateway): Work {
  const isDrained = (mark: string | undefined) =>
    mark !== undefined && (reason === turnReason || mark !== turnReason);
  return {
    name: title,
    async check(at) {
      const { found, mark } = await stateOf(at, name, gateway);
      // HAProxy does not run, or does not know it: nobody is sent there.
      if (!found || (isDrained(mark) && !found.serves && found.sessions === 0)) return ok;
      return drift([{ what: name, was: wordsOf(found, mark), wanted: 'drained, no connections' }]);
    },
    async work(at) {
      const { mark } = await stateOf(at, name, gateway);
      if (!isDrained(mark)) {
        await othersServe(at, name, gateway);
        await at.run`${gatewayProgram} drain ${name} ${reason}`;
      }
      await connectionsEnd(at, name, gateway);
    },
  };
}

function wordsOf({ serves, sessions, reason }: FleetHost, mark: string | undefined): string {
  const connections = sessions === 0 ? '' : `, ${sessions} connections`;
  return `${serves ? 'serves' : (mark && `drained: ${mark}`) || `out: ${reason}`}${connections}`;
}

/**
 * Hosts for heavy methods are no others for clients of usual ones, nor the other way round:
 * `gateway.least_serving` is about usual ones.
 *
 * @throws Failure where too few other hosts serve. A host that does not serve may always leave
 */
async function othersServe(at: Writer, name: string, gateway: Gateway): Promise<void> {
  await wait(at, name, gateway, async ({ all, found }, seconds) => {
    if (!found?.serves) return undefined;
    const others = all.filter(({ host, heavy }) => host !== name && heavy === found.heavy);
    const least = (found.heavy ? undefined : gateway.least_serving) ?? Math.min(1, others.length);
    const out = others.filter(({ serves }) => !serves);
    if (others.length - out.length >= least) return undefined;
    const kind = found.heavy ? ' for heavy methods' : '';
    const what = `${others.length - out.length} other RPC hosts${kind} serve, and there have to be ${least}`;
    if (seconds <= othersWithin) return { what: `waiting: ${what}` };
    throw new Failure(
      `${name} cannot leave the gateways: ${what}. ${out.map(({ host, reason }) => `${host}: ${reason}`).join('; ')}`,
      { hint: 'status says why servers are out; gateway.least_serving says how many have to serve' },
    );
  });
}

/**
 * Waits until the connections of a drained host have ended, and cuts those that are left after a
 * time.
 */
async function connectionsEnd(at: Writer, name: string, gateway: Gateway): Promise<void> {
  const total = gateway.drain_seconds;
  let cut = false;
  await wait(at, name, gateway, async ({ found }, seconds) => {
    if (!found || (!found.serves && found.sessions === 0)) return undefined;
    if (seconds > total + actsWithin)
      throw new Failure(`${name} still has clients: ${wordsOf(found, undefined)}`, {
        hint: 'see journalctl -u haproxy on the gateway',
      });
    if (!found.serves && !cut && seconds >= total) {
      await at.run`${gatewayProgram} cut ${name}`;
      cut = true;
    }
    const what = `waiting for ${found.sessions} connections of ${name} to end`;
    return { what, done: Math.min(Math.floor(seconds), total), total, unit: 'seconds' };
  });
}

/**
 * An RPC host that is out for its turn has been well for a time, and serves again. One that the
 * operator has drained stays so.
 */
function servesAgain(title: string, name: string, gateway: Gateway): Work {
  const isBack = ({ mark, found }: State) =>
    mark !== turnReason && (!found || found.serves || mark !== undefined);
  return {
    name: title,
    async check(at) {
      const state = await stateOf(at, name, gateway);
      if (isBack(state)) return ok;
      const was = state.found ? wordsOf(state.found, state.mark) : `drained: ${state.mark}`;
      return drift([{ what: name, was, wanted: 'serves' }]);
    },
    async work(at) {
      let wellSince: number | undefined;
      await wait(at, name, gateway, async (state, seconds) => {
        if (isBack(state)) return undefined;
        // Without HAProxy nobody can say whether it is well, and nobody is sent there.
        wellSince = !state.found || state.found.fit ? (wellSince ?? seconds) : undefined;
        if (wellSince !== undefined && seconds - wellSince >= gateway.healthy_seconds) {
          await at.run`${gatewayProgram} undrain ${name}`;
        } else if (seconds > wellWithin) {
          throw new Failure(`${name} is not well after ${wellWithin} s: ${state.found?.reason}`, {
            hint: `see on the gateway: ${gatewayProgram} fleet ${gateway.metrics}`,
          });
        }
        return { what: `waiting until ${name} is well` };
      });
    },
  };
}

/**
 * An RPC host is not drained.
 *
 * @param only the reason, if one with another reason stays drained
 */
export function notDrained(title: string, name: string, only?: string): Resource {
  return {
    name: title,
    async check(at) {
      const mark = (await at.read(`${drainedFolder}/${name}`))?.toString().trim();
      if (mark === undefined || (only !== undefined && mark !== only)) return ok;
      const wanted = 'not drained';
      return driftOf(
        [{ what: name, was: `drained: ${mark}`, wanted }],
        [command`${gatewayProgram} undrain ${name}`],
      );
    },
  };
}

/**
 * json-rpc needs the others: a request fails while one of them restarts. All restart with the
 * engine.
 */
const disturbing = [...['json-rpc', 'prover', 'pool-db'].map(containerChange), unitChange('docker.service')];

/** The turns of RPC hosts behind gateways. */
const gatewayTurns: Turns<Variables> = {
  at: 'gateway',
  staysOut:
    'it gets no clients until a run has finished it; npx zx playbooks/drain.mjs --undo lets it back in as it is',
  of: 'rpc',
  // In a rotation each server has valid logins at any time, so that others serve while one restarts.
  aloneWithout: ({ vars }) => hasFormer(vars),
  disturbs: (effect) => disturbing.includes(effect),

  async look(reader, { vars }) {
    const [fleet, marked] = await Promise.all([
      readFleet(reader, vars.gateway.metrics),
      reader.$`grep -lxs ${turnReason} ${drainedFolder}/*`,
    ]);
    const serving = fleet.ok ? fleet.value.hosts.filter(({ serves }) => serves).map(({ host }) => host) : [];
    return { serving, left: marked.lines().map((path) => path.slice(drainedFolder.length + 1)) };
  },

  leave: (name, { vars }) => drained(`${name} leaves the gateways`, name, turnReason, vars.gateway),
  back: (name, { vars }) => servesAgain(`${name} comes back to the gateways`, name, vars.gateway),
  undo: (name) => notDrained(`${name} is let back in`, name, turnReason),
};

/**
 * Of a play: behind gateways, an RPC server leaves them before a change that clients notice, one
 * at a time. Elsewhere all change together, but in a rotation of passwords one at a time.
 */
export const rolling = { serial: 1, maxFail: 0, turns: gatewayTurns } as const;
