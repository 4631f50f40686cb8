import type { Reader, SqlTarget } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { ensureContainerRuns } from '../../engine/resource/docker/compose-service.ts';
import { eventually } from '../../engine/resource/job/eventually.ts';
import { containerListens } from '../../engine/resource/network/listening.ts';
import {
  checkedAgainAfter,
  containerChange,
  drift,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { stateDatabase } from '../databases/databases.ts';
import { renderHost } from '../render/render.ts';
import { isOnTrustedChain } from '../status/same-chain.ts';
import type { Variables } from '../variables/variables.ts';
import { rewoundAt } from './record.ts';

/** As at a deploy. Seconds. */
const stopLimit = 120;
/** json-rpc waits for its prover and its databases. Seconds. */
const startLimit = 300;
/** A replica has the rewind within seconds, unless it was away. Seconds. */
const arrivesWithin = 300;

const untilRewound = unknownUntil('the state database is rewound');

/** A replica has replayed the rewind. */
export function replicaIsRewound({ vars }: Context<Variables>): Resource {
  return agrees(
    'blocks of state-db are those of the trusted sequencer',
    'state-db',
    stateDatabase(vars),
    vars,
  );
}

/**
 * json-rpc has been started since the rewind: for its subscribers of new blocks, one that runs on
 * remembers the blocks that went.
 */
export async function jsonRpcIsRewound(context: Context<Variables>): Promise<readonly Resource[]> {
  const { vars } = context;
  const { listens } = await renderHost(context);
  const url = `http://localhost:${vars.ports.rpc_http}`;
  return [
    agrees('json-rpc reads the blocks of the trusted sequencer', 'json-rpc', url, vars),
    restartedSince(context, url),
    containerListens('json-rpc', listens['json-rpc'], startLimit),
    agrees('json-rpc serves the blocks of the trusted sequencer', 'json-rpc', url, vars),
  ];
}

function restartedSince(context: Context<Variables>, url: string): Resource {
  return {
    name: 'json-rpc has been started since the rewind',
    // It answers some seconds later, which is waited for next.
    provesItself: true,
    changes: () => [containerChange('json-rpc')],
    async check(host) {
      const [state, rewound, seen] = await Promise.all([
        host.container('json-rpc'),
        rewoundAt(host, context),
        onTrustedChain(host, 'json-rpc', url, context.vars),
      ]);
      if (!state?.running) return ok;
      if (!rewound.ok) return unknownUntil(`its state database answers: ${rewound.error}`);
      if (rewound.value === undefined || Date.parse(state.startedAt) / 1000 >= rewound.value) return seen;
      const was = `started ${state.startedAt}`;
      return drift(
        [{ what: 'json-rpc', was, wanted: 'started after the rewind' }],
        [command`docker restart --time ${stopLimit} json-rpc`],
      );
    },
    async work(host) {
      await host.sleep(1);
      await ensureContainerRuns(host, 'json-rpc', { restarts: 0 });
    },
  };
}

type From = SqlTarget | string;

function agrees(name: string, component: 'state-db' | 'json-rpc', from: From, vars: Variables): Resource {
  return checkedAgainAfter(
    eventually(name, (host) => onTrustedChain(host, component, from, vars), {
      seconds: arrivesWithin,
      hint: 'status shows what it has, and whether a replica receives anything',
    }),
    component,
  );
}

/**
 * Whether a component has the trusted chain. It is ok for a container that does not run, too:
 * other checks report that.
 */
async function onTrustedChain(
  host: Reader,
  component: 'state-db' | 'json-rpc',
  from: From,
  vars: Variables,
): Promise<Verdict> {
  const [seen, state] = await Promise.all([
    isOnTrustedChain(component, from, vars).check(host),
    host.container(component),
  ]);
  return seen.is === 'ok' || !state?.running ? ok : untilRewound;
}
