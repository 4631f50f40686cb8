import { seconds } from '../../engine/output/units.ts';
import { type Difference, ok, refused, type Verdict } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { counted } from '../../engine/text/counted.ts';
import { backupHost } from '../backup/source.ts';
import { databaseHost } from '../variables/hosts.ts';
import { layer1Key } from '../variables/layer1.ts';
import type { Variables } from '../variables/variables.ts';
import type { Layer1Rewind, Layer2Rewind, Rewind } from './found.ts';

/** A rewind by more has to be asked for by the number of its block. Seconds. */
const longestUnasked = 24 * 3600;

type Deployment = Pick<Context<Variables>, 'hosts' | 'given'>;

/** What a rewind takes away, where it ends, and how it is undone. */
export function differencesOf(rewind: Rewind, { hosts }: Deployment): readonly Difference[] {
  const { layer1, layer2 } = rewind;
  return [
    ...(layer2 ? layer2Differences(layer2) : []),
    ...(layer1 ? layer1Differences(layer1) : []),
    { what: 'the way back', ...wayBack(layer2?.kept, hosts) },
  ];
}

function wayBack(kept: Layer2Rewind['kept'], hosts: Deployment['hosts']) {
  const backup = backupHost(hosts);
  if (backup) {
    return {
      was: `the backup on ${backup.name}`,
      wanted: 'recover.mjs --to-time, with a time before this run',
    };
  }
  if (kept) {
    return {
      was: `the physical snapshot of ${kept.manifest.date}`,
      wanted: 'deploy.mjs, with the data directory set aside (docs/rewind.md)',
    };
  }
  return {
    was: 'none: no backup, and no physical snapshot of all that goes',
    wanted: 'the blocks are synchronized again',
  };
}

function layer2Differences(rewind: Layer2Rewind): readonly Difference[] {
  const { left, newest, common, wrong, firstBatch, lastBatch, virtual, made, written } = rewind;
  const ofLayer1 = virtual > 0 ? `, ${virtual} of them on layer 1 already` : '';
  return [
    { what: 'newest block', was: String(newest), wanted: `${left.block} (${left.hash})` },
    {
      what: 'goes',
      was: `${counted(newest - left.block, 'block')}, in batches ${firstBatch} to ${lastBatch}${ofLayer1}`,
      wanted: 'the blocks of the trusted sequencer',
    },
    {
      what: 'since',
      was: `block ${wrong.block} (${wrong.hash}), made ${timeOf(made)}, written ${timeOf(written)}`,
      wanted: `agrees up to block ${common}; a batch goes as a whole`,
    },
  ];
}

function layer1Differences({ newest, common, blocks, virtual }: Layer1Rewind): readonly Difference[] {
  return [
    { what: 'newest block of layer 1', was: String(newest), wanted: String(common) },
    {
      what: 'goes of layer 1',
      was: `${counted(blocks, 'block')}, with ${virtual} virtual batches`,
      wanted: 'what layer 1 has',
    },
  ];
}

function timeOf(since1970: number): string {
  return new Date(since1970 * 1000).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** Of the Database+Sync server, whose layer 1 is compared. */
function layer1Keys(hosts: Deployment['hosts']): string {
  return `network.${layer1Key(databaseHost(hosts).vars)}`;
}

/**
 * Whether a rewind may be made: it ends at the block that the operator has typed, where one is
 * needed.
 *
 * @param now seconds since 1970
 */
export function judgeRewind({ layer1, layer2 }: Rewind, { hosts, given }: Deployment, now: number): Verdict {
  const to = layer2?.left.block ?? layer1?.common ?? 0;
  const typed = `look at what goes, and type its number: --to ${to}`;
  if (layer1?.forced !== undefined && layer1.forced < (layer2?.firstBatch ?? Number.POSITIVE_INFINITY))
    return refused(
      `batch ${layer1.forced} holds a forced batch of a block of layer 1 that would go`,
      'restore a snapshot: the node cannot undo this, either',
    );
  if (given.to !== undefined) {
    if (Number(given.to) === to) return ok;
    return refused(`--to ${given.to} is not the block at which the rewind ends: that is ${to}`, typed);
  }
  if (backupHost(hosts) === undefined && !layer2?.kept)
    return refused(
      `the rewind to block ${to} has no way back: the inventory has no host in group backup, and no physical snapshot of all that goes`,
      typed,
    );
  const age = layer2 ? now - layer2.made : 0;
  if (age > longestUnasked)
    return refused(`block ${layer2?.wrong.block} is ${seconds(age)} old, more than a day`, typed);
  return layer1
    ? refused(
        `blocks of layer 1 go, down to ${layer1.common}`,
        `check ${layer1Keys(hosts)} first. If it is right, ${typed}`,
      )
    : ok;
}
