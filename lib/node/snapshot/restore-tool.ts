import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Reader } from '../../engine/host/host.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { job, packages, skipWhen } from '../../engine/resource/kinds.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import { signedImage } from '../images/image-signatures.ts';
import type { Variables } from '../variables/variables.ts';
import { goHint, goPackage, installedGo, judgeGo } from './go.ts';
import { snapshotDirectory } from './snapshot.ts';

const buildScript = readFileSync(
  new URL('../../../templates/host/build-restore-tool.sh', import.meta.url),
  'utf8',
);

/**
 * Default number of parallel jobs of pg_restore for one archive: the state database has about as
 * many large tables.
 */
const defaultJobs = 4;

/** The program that restores a snapshot. */
export interface RestoreTool {
  /** The resources that install it. */
  readonly resources: readonly Resource[];
  /** Settings of templates/host/restore-snapshot.sh. */
  readonly settings: Readonly<Record<string, string | number>>;
}

/**
 * The program that `snapshot.restore_with` names: `image` runs the node's own `restore` in its
 * image, which has the PostgreSQL 15 client too; `source` builds it on the host (spec, Snapshot
 * recovery); `pg_restore` is that of role client-tools.
 *
 * @param configuration path of snapshot_restore.toml
 * @throws TypeError for `source` without snapshot.source. Validation refuses such an inventory
 * before
 */
export function restoreTool(vars: Variables, configuration: string): RestoreTool {
  const { restore_with, restore_jobs, source } = vars.snapshot;
  switch (restore_with) {
    case 'pg_restore':
      return { resources: [], settings: { RESTORE_WITH: restore_with, JOBS: restore_jobs ?? defaultJobs } };
    case 'image':
      return {
        resources: [signedImage(vars, 'node')],
        settings: {
          RESTORE_WITH: restore_with,
          IMAGE: vars.images.node,
          NODE_BINARY: vars.node_binary,
          CONFIGURATION: configuration,
        },
      };
    case 'source': {
      if (!source)
        throw new TypeError('snapshot.source is not set, and the restore tool is to be built from source');
      const places = placesOf(vars, source);
      return {
        resources: builtFromSource(source, places),
        settings: { RESTORE_WITH: restore_with, NODE_BINARY: places.tool, CONFIGURATION: configuration },
      };
    }
  }
}

type Source = NonNullable<Variables['snapshot']['source']>;

/** The folders of a restore tool that is built on the host. */
interface Places {
  /** The clone of the node's source. */
  readonly source: string;
  /** The program, one for each tag or commit. */
  readonly tool: string;
}

function placesOf(vars: Pick<Variables, 'paths' | 'node_binary'>, { ref }: Source): Places {
  const directory = snapshotDirectory(vars);
  const tool = `${directory}/tool/${ref.replaceAll('/', '_')}/${basename(vars.node_binary)}`;
  return { source: `${directory}/source`, tool };
}

/**
 * Whether the host has the tool of `snapshot.source` already: then the repository is not needed.
 */
export function restoreToolIsBuilt(vars: Pick<Variables, 'paths' | 'node_binary'>, source: Source) {
  return (host: Reader) => isBuilt(host, source, placesOf(vars, source));
}

async function isBuilt(host: Reader, { repository }: Source, { source, tool }: Places): Promise<Verdict> {
  const [file, git] = await Promise.all([host.stat(tool), host.read(`${source}/.git/config`)]);
  if (!file || (file.mode & 0o100) === 0)
    return drift([{ what: 'restore tool', was: 'absent', wanted: tool }]);
  // Git quotes an address with special characters: such a one is not compared.
  const from = /^\s*url = ([^"\\\n]*)$/m.exec(git?.toString() ?? '')?.[1] ?? repository;
  return from === repository
    ? ok
    : drift([{ what: 'source of the restore tool', was: from, wanted: repository }]);
}

function builtFromSource(source: Source, places: Places): Resource[] {
  const { repository, ref, go_version } = source;
  const newEnough = goIsNewEnough(go_version);
  return [
    packages('git', 'make'),
    skipWhen(newEnough, packages(goPackage)),
    newEnough,
    job(`restore tool is built from ${ref}`, {
      unit: 'rpc-playbooks-build-restore-tool',
      script:
        shellSettings({ REPOSITORY: repository, REF: ref, SOURCE: places.source, TOOL: places.tool }) +
        buildScript,
      done: (host) => isBuilt(host, source, places),
    }),
  ];
}

/**
 * @param wanted the lowest version, as `1.21`
 */
function goIsNewEnough(wanted: string): Resource {
  return expectation(`Go is ${wanted} or later`, {
    check: async (host) => {
      const installed = await installedGo(host);
      return installed === undefined ? unknownUntil('Go is installed') : judgeGo(installed, wanted);
    },
    hint: goHint(wanted),
  });
}
