import type { Reader } from '../../engine/host/host.ts';
import { command } from '../../engine/host/step.ts';
import { ensureContainerRuns, reachedBy } from '../../engine/resource/docker/compose-service.ts';
import {
  containerChange,
  drift,
  expectation,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { blockNumber, blockQuery } from '../chain/chain.ts';
import { newestBlockPair } from '../chain/newest-block.ts';
import { noOtherSynchronizer, noSynchronizer } from '../chain/single-sync.ts';
import { stateDatabase } from '../databases/databases.ts';
import { unknownWithoutAnswer } from '../databases/postgres.ts';
import type { Variables } from '../variables/variables.ts';
import { both } from '../version/version-change.ts';
import { deletionOf } from './deletion.ts';
import { findRewind, type Rewind } from './found.ts';
import { differencesOf, judgeRewind } from './plan.ts';
import { rewoundAt } from './record.ts';
import { backupIsWhole } from './way-back.ts';

/** The time that sync gets to end what it writes, as at a deploy. Seconds. */
const stopLimit = 120;

/** sync waits for executor and hash database, and then for a block of the sequencer. Seconds. */
const goesOnWithin = 600;

/**
 * The state database has only blocks that the trusted sequencer and layer 1 have, too. No
 * synchronizer runs on any host meanwhile. Then sync runs again.
 */
export function stateIsRewound(context: Context<Variables>): readonly Resource[] {
  return [mayBeRewound(context), synchronizerIsStopped(context), blocksAgree(context), ...goesOn(context)];
}

/**
 * Judges what is found. Nothing is stopped or deleted where the chains agree.
 *
 * @param without the verdict where the chains cannot be compared, by the reason
 */
async function judged(
  host: Reader,
  { vars }: Context<Variables>,
  judge: (rewind: Rewind) => Verdict | Promise<Verdict>,
  without: (why: string) => Verdict = () => unknownUntil('the chains can be compared'),
): Promise<Verdict> {
  const { container: name } = stateDatabase(vars);
  const [found, container] = await Promise.all([findRewind(host, vars), host.container(name)]);
  if (found.ok) return found.value ? judge(found.value) : ok;
  return container?.running ? without(found.error) : unknownWithoutAnswer(name, container, found.error);
}

function mayBeRewound(context: Context<Variables>): Resource {
  return expectation('the state database can be compared, and rewound where it differs', {
    check: (host) =>
      judged(
        host,
        context,
        async (rewind) => {
          const clock = await host.$`date +%s`;
          return judgeRewind(rewind, context, Number(clock.text()));
        },
        drift,
      ),
    hint: 'check network.trusted_sequencer_url, network.l1_rpc_url and the chain ids in the inventory. Nothing was stopped or deleted',
  });
}

function synchronizerIsStopped(context: Context<Variables>): Resource {
  return {
    name: 'sync does not run during the rewind',
    changes: () => [containerChange('sync')],
    check: (host) =>
      judged(host, context, async () => {
        if (!(await host.container('sync'))?.running) return ok;
        const stop = command({ timeoutSeconds: 300 })`docker stop --time ${stopLimit} sync`;
        return drift([{ what: 'sync', was: 'running', wanted: 'stopped' }], [stop]);
      }),
    everyHost: both(noOtherSynchronizer(context), backupIsWhole(context)),
  };
}

function blocksAgree(context: Context<Variables>): Resource {
  return {
    name: 'the blocks of the state database are those of the trusted sequencer and of layer 1',
    changes: () => ['the rewind'],
    check: (host) =>
      judged(host, context, (rewind) =>
        drift(differencesOf(rewind, context), [deletionOf(rewind, context.vars)]),
      ),
    everyHost: noSynchronizer(context),
  };
}

/** A synchronizer that the operator has stopped since the rewind stays stopped. */
function goesOn(context: Context<Variables>): readonly Resource[] {
  return [
    {
      name: 'sync runs again after the rewind',
      changes: () => [containerChange('sync')],
      follows: [
        { what: containerChange('sync'), effect: 'is started', certain: true },
        { what: 'the rewind', effect: 'is started', certain: true },
      ],
      async check(host) {
        const [state, rewound] = await Promise.all([host.container('sync'), rewoundAt(host, context)]);
        if (!rewound.ok) return unknownUntil('state-db answers SQL');
        if (!state || state.running || rewound.value === undefined) return ok;
        if (Date.parse(state.startedAt) / 1000 >= rewound.value) return ok;
        return drift([{ what: 'sync', was: state.status, wanted: 'running' }], [command`docker start sync`]);
      },
      async work(host) {
        await host.sleep(1);
        await ensureContainerRuns(host, 'sync', { restarts: 0 });
      },
      everyHost: noOtherSynchronizer(context),
    },
    reachedBy(
      'sync',
      'sync goes on with blocks of the trusted sequencer',
      (host) => hasGoneOn(host, context),
      {
        seconds: goesOnWithin,
        hint: 'see docker logs sync; status says what its last words mean',
      },
    ),
  ];
}

/** Whether sync has written a right block since the rewind, or has nothing to write. */
async function hasGoneOn(host: Reader, context: Context<Variables>): Promise<Verdict> {
  const { vars } = context;
  const { trusted_sequencer_url: url } = vars.network;
  const target = stateDatabase(vars);
  const [rewound, pair, head] = await Promise.all([
    rewoundAt(host, context),
    newestBlockPair(host, { target, query: blockQuery() }, url),
    blockNumber(host, url),
  ]);
  if (!rewound.ok || !pair.ok) return unknownUntil('state-db answers SQL');
  if (rewound.value === undefined) return ok;
  const { here, there } = pair.value ?? {};
  if (!here || !there?.ok || there.value?.hash !== here.hash)
    return unknownUntil('the newest block is one of the trusted sequencer');
  const isNew = here.written !== undefined && here.written >= rewound.value;
  return isNew || (head.ok && head.value <= here.block) ? ok : unknownUntil('sync writes a block');
}
