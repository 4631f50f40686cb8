import { command } from '../../engine/host/action.ts';
import type { Reader, Writer } from '../../engine/host/host.ts';
import { exitCode, Problem } from '../../engine/problem/problem.ts';
import { pause } from '../../engine/resource/job/pause.ts';
import { drift, driftOf, ok, type Resource, type Work } from '../../engine/resource/resource.ts';
import type { Variables } from '../variables/variables.ts';
import { type FleetHost, readFleet } from './fleet.ts';
import { drainedFolder, gatewayProgram } from './paths.ts';

type Gateway = Variables['gateway'];

/** The reason of an RPC host that is out for its turn in a run. templates/gateway/fleet.lua knows it, too. */
export const turnReason = 'its turn in a run';

/** How long the others may take to serve again before a host leaves, for example after their own turn. Seconds. */
const othersWithin = 60;
/** After a start, json-rpc is well within seconds, for it reads a database that is there. Seconds. */
const wellWithin = 300;
/** HAProxy acts on a drained host within a second, and ends cut connections at once. Seconds. */
const actsWithin = 10;

/** What a gateway knows of an RPC host, and why it is drained there. */
async function stateOf(at: Reader, name: string, { metrics }: Gateway) {
  const [fleet, mark] = await Promise.all([readFleet(at, metrics), at.read(`${drainedFolder}/${name}`)]);
  const all = fleet.ok ? fleet.value.hosts : [];
  return { mark: mark?.toString().trim(), found: all.find(({ host }) => host === name), all };
}

/** An RPC host gets no requests by this gateway, and none of its connections is left. One that is drained already stays so. */
export function drained(title: string, name: string, reason: string, gateway: Gateway): Work {
  const isDrained = (mark: string | undefined) => mark !== undefined && (reason === turnReason || mark !== turnReason);
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

/** @throws Problem where too few other hosts serve. A host that does not serve may always leave */
async function othersServe(at: Writer, name: string, gateway: Gateway): Promise<void> {
  const until = performance.now() + othersWithin * 1000;
  for (;;) {
    const { all, found } = await stateOf(at, name, gateway);
    const others = all.filter(({ host, serves }) => serves && host !== name);
    const least = gateway.least_serving ?? Math.min(1, all.length - 1);
    if (!found?.serves || others.length >= least) return;
    if (performance.now() > until) {
      const out = all.filter(({ host, serves }) => !serves && host !== name);
      throw new Problem(
        `${name} cannot leave: ${others.length} other RPC hosts serve, and there have to be ${least}. ${out.map(({ host, reason }) => `${host}: ${reason}`).join('; ')}`,
        { hint: 'see status; gateway.least_serving is the number', code: exitCode.failed },
      );
    }
    at.progress({ what: `waiting: ${others.length} other RPC hosts serve, and there have to be ${least}` });
    await pause(at, 0.5);
  }
}

/** Waits until the connections of a drained host have ended, and cuts those that are left after a time. */
async function connectionsEnd(at: Writer, name: string, gateway: Gateway): Promise<void> {
  const started = performance.now();
  let cut = false;
  for (;;) {
    const { found } = await stateOf(at, name, gateway);
    if (!found || (!found.serves && found.sessions === 0)) return;
    const seconds = (performance.now() - started) / 1000;
    if (seconds > gateway.drain_seconds + actsWithin) {
      throw new Problem(`${name} still has clients: ${wordsOf(found, undefined)}`, {
        hint: 'see journalctl -u haproxy on the gateway',
        code: exitCode.failed,
      });
    }
    if (!found.serves && !cut && seconds >= gateway.drain_seconds) {
      await at.run`${gatewayProgram} cut ${name}`;
      cut = true;
    }
    const [what, unit] = [`waiting for ${found.sessions} connections of ${name} to end`, 'seconds'] as const;
    at.progress({
      what,
      done: Math.min(Math.floor(seconds), gateway.drain_seconds),
      total: gateway.drain_seconds,
      unit,
    });
    await pause(at, 0.5);
  }
}

/** An RPC host that is out for its turn has been well for a time, and serves again. One that the operator has drained stays so. */
export function servesAgain(title: string, name: string, gateway: Gateway): Work {
  const isBack = ({ mark, found }: Awaited<ReturnType<typeof stateOf>>) =>
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
      const started = performance.now();
      let wellSince: number | undefined;
      for (;;) {
        const state = await stateOf(at, name, gateway);
        if (isBack(state)) return;
        const now = performance.now();
        // Without HAProxy nobody can say whether it is well, and nobody is sent there.
        wellSince = !state.found || state.found.fit ? (wellSince ?? now) : undefined;
        if (wellSince !== undefined && now - wellSince >= gateway.healthy_seconds * 1000) {
          await at.run`${gatewayProgram} undrain ${name}`;
        } else if (now - started > wellWithin * 1000) {
          throw new Problem(`${name} is not well after ${wellWithin} s: ${state.found?.reason}`, {
            hint: `see on the gateway: ${gatewayProgram} fleet ${gateway.metrics}`,
            code: exitCode.failed,
          });
        }
        at.progress({ what: `waiting until ${name} is well` });
        await pause(at, 0.5);
      }
    },
  };
}

/** An RPC host is not drained. @param only the reason, if one with another reason stays drained */
export function notDrained(title: string, name: string, only?: string): Resource {
  return {
    name: title,
    async check(at) {
      const mark = (await at.read(`${drainedFolder}/${name}`))?.toString().trim();
      if (mark === undefined || (only !== undefined && mark !== only)) return ok;
      const wanted = 'not drained';
      return driftOf([{ what: name, was: `drained: ${mark}`, wanted }], [command`${gatewayProgram} undrain ${name}`]);
    },
  };
}
