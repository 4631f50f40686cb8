import { containerChange, unitChange } from '../../engine/resource/resource.ts';
import type { Turns } from '../../engine/run/rolling.ts';
import type { Variables } from '../variables/variables.ts';
import { drained, notDrained, servesAgain, turnReason } from './drain.ts';
import { readFleet } from './fleet.ts';
import { drainedFolder } from './paths.ts';

/** json-rpc needs the others: a request fails while one of them restarts. All restart with the engine. */
const disturbing = [...['json-rpc', 'prover', 'pool-db'].map(containerChange), unitChange('docker.service')];

/** The turns of RPC hosts behind gateways. */
export const gatewayTurns: Turns<Variables> = {
  at: 'gateway',
  staysOut:
    'it gets no clients until a run has finished it; npx zx playbooks/drain.mjs --undo lets it back in as it is',
  covers: ({ groups }) => groups.includes('rpc'),
  disturbs: (effect) => disturbing.includes(effect),

  async look(reader, { vars }) {
    const [fleet, marked] = await Promise.all([
      readFleet(reader, vars.gateway.metrics),
      reader.$`grep -lxs ${turnReason} ${drainedFolder}/*`,
    ]);
    const serving = fleet.ok ? fleet.value.hosts.filter(({ serves }) => serves).map(({ host }) => host) : [];
    return { serving, left: marked.lines().map((path) => path.slice(drainedFolder.length + 1)) };
  },

  leave: ({ name }, { vars }) => drained(`${name} leaves the gateways`, name, turnReason, vars.gateway),
  back: ({ name }, { vars }) => servesAgain(`${name} comes back to the gateways`, name, vars.gateway),
  undo: ({ name }) => notDrained(`${name} is let back in`, name, turnReason),
};
