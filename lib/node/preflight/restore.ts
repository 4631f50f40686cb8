import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { downloads } from '../chain/reachable.ts';
import { askFile, isOnHost } from '../snapshot/ask-file.ts';
import { assessDatabases, databasesOf } from '../snapshot/database-contents.ts';
import { goHint, goWillBeNewEnough } from '../snapshot/go.ts';
import { restoreToolIsBuilt } from '../snapshot/restore-tool.ts';
import { archivesOf } from '../snapshot/snapshot.ts';
import { gitAddress, repositoryHas } from '../snapshot/source-ref.ts';
import { dataFolder } from '../variables/data-folders.ts';
import { isOfStorage } from '../variables/s3.ts';
import type { Variables } from '../variables/variables.ts';
import { goal } from './known.ts';

/** In a recovery the databases come from the backup, and in a switch they are there. */
const isWithoutSnapshot = ({ to, 'to-time': time }: Context<Variables>['given']) =>
  (to ?? time) !== undefined;

/** What the restore of a snapshot downloads is there, as far as this run restores one. */
export function snapshotCanBeDownloaded({
  vars,
  given,
}: Pick<Context<Variables>, 'vars' | 'given'>): Resource[] {
  // A physical one has a role of its own, before there are databases.
  if (isWithoutSnapshot(given) || vars.snapshot.physical) return [];
  const archives = archivesOf(vars);
  const { restore_with, source } = vars.snapshot;
  const built = restore_with === 'source' ? source : undefined;
  return [
    ...[archives.state, archives.prover].map(({ store, url }) =>
      expectation(`${store} snapshot can be downloaded`, {
        check: async (reader) => {
          if (!isOfStorage(url) && !isOnHost(url)) return downloads(reader, url);
          const answer = await askFile(reader, url, vars.snapshot.s3);
          return answer.answered ? ok : drift(`${url}: ${answer.why}`);
        },
        hint: `check snapshot.${store}.url in the inventory, or with a manifest snapshot.from`,
      }),
    ),
    ...(built === undefined ? [] : repositoryHasTheSource(vars, built)),
  ].map((resource) => skipWhen(nothingIsRestored(vars), resource));
}

/** A Go that is too old would otherwise fail only after the databases have started. */
export function restoreToolCanBeBuilt({ host, vars, facts, given }: Context<Variables>): Resource[] {
  const { restore_with, source } = vars.snapshot;
  if (
    restore_with !== 'source' ||
    source === undefined ||
    !host.groups.includes('database') ||
    isWithoutSnapshot(given)
  )
    return [];
  const wanted = source.go_version;
  const goIsThere = expectation(`Go ${wanted} or later is available for the restore tool`, {
    check: (reader) => goWillBeNewEnough(reader, facts.distribution, wanted),
    hint: goHint(wanted),
  });
  return [skipWhen(nothingIsRestored(vars), goIsThere)];
}

/**
 * This run restores no snapshot: by what both databases hold, which archives the inventory names,
 * and whether it may replace data. Role snapshot decides by the same. A database server that has
 * its files and does not run is started first: a deploy has to be able to do that when the
 * archives are long gone, and before role snapshot downloads anything it asks for the archives
 * itself.
 */
function nothingIsRestored(vars: Variables): Pick<Resource, 'check'> {
  const { replace_existing } = vars.snapshot;
  return goal(async (reader) => {
    const [{ decision }, files] = await Promise.all([
      assessDatabases(reader, databasesOf(vars), replace_existing),
      reader.stat(`${dataFolder(vars, 'state-db')}/PG_VERSION`),
    ]);
    return decision === 'keep' || (decision === 'wait' && files !== undefined && !replace_existing);
  });
}

function repositoryHasTheSource(
  vars: Variables,
  source: NonNullable<Variables['snapshot']['source']>,
): Resource[] {
  const { repository, ref } = source;
  return [
    expectation('source repository of the node answers', {
      check: (reader) => downloads(reader, gitAddress(repository)),
      hint: 'check snapshot.source.repository in the inventory, or set snapshot.restore_with: image',
    }),
    expectation(`source repository of the node has ${ref}`, {
      check: (reader) => repositoryHas(reader, repository, ref),
      hint: 'name a tag or a commit of the node in snapshot.source.ref, or set snapshot.restore_with: image',
    }),
  ].map((resource) => skipWhen({ check: restoreToolIsBuilt(vars, source) }, resource));
}
