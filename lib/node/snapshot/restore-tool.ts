import { basename } from 'node:path';
import type { Reader } from '../../engine/host/host.ts';
import { quote } from '../../engine/host/quote.ts';
import { dockerImage } from '../../engine/resource/docker/docker-image.ts';
import { job } from '../../engine/resource/job/job.ts';
import { drift, expectation, ok, type Resource, unknownUntil, type Verdict } from '../../engine/resource/resource.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import type { Variables } from '../variables/variables.ts';
import { goHint, goPackage, goRoot, installedGo, judgeGo } from './go.ts';
import { snapshotDirectory } from './snapshot.ts';

/** The container in which the tool runs, where it runs from the node's image. */
export const toolContainer = 'rpc-node-restore';

/** How many jobs restore one archive where nothing is said: the state database has about so many large tables. */
const usualJobs = 4;

interface NodeTool {
  /** What has to be done to have it. */
  readonly resources: readonly Resource[];
  /** Shell words that run it; the rest of its command line follows. Mounts what it reads where it runs in a container. */
  readonly command: string;
}

interface PgRestore {
  readonly resources: readonly [];
  /** How many tables and indexes of one archive are restored at a time. */
  readonly jobs: number;
}

/** What restores a snapshot: the node's own `restore`, or the host's own pg_restore. */
export type RestoreTool = NodeTool | PgRestore;

/**
 * The node's own `restore`: built from its source (spec, Snapshot recovery), or taken from its image, which has the PostgreSQL 15
 * client too. Or, in its place, the client of role client-tools.
 *
 * @param configuration path of snapshot_restore.toml
 * @throws TypeError where a build is asked for and no source is named: an inventory is not loaded then
 */
export function restoreTool(vars: Variables, configuration: string): RestoreTool {
  switch (vars.snapshot.restore_with) {
    case 'source':
      return fromSource(vars);
    case 'image':
      return fromImage(vars, configuration);
    case 'pg_restore':
      return { resources: [], jobs: vars.snapshot.restore_jobs ?? usualJobs };
  }
}

function fromImage(vars: Variables, configuration: string): NodeTool {
  const directory = snapshotDirectory(vars);
  const words = ['docker', 'run', '--rm', '--name', toolContainer, '--network', 'host', '--user', '0:0'];
  const mounts = ['--volume', `${configuration}:${configuration}:ro`, '--volume', `${directory}:${directory}:ro`];
  const program = ['--entrypoint', vars.node_binary, vars.images.node];
  return {
    resources: [dockerImage(vars.images.node)],
    command: [...words, ...mounts, ...program].map(quote).join(' '),
  };
}

function fromSource(vars: Variables): NodeTool {
  const { source } = vars.snapshot;
  if (!source) {
    throw new TypeError('snapshot.source is not set, and the restore tool is to be built from source');
  }
  const binary = basename(vars.node_binary);
  const path = `${snapshotDirectory(vars)}/tool/${source.ref.replaceAll('/', '_')}/${binary}`;
  const newEnough = goIsNewEnough(source.go_version);
  return {
    resources: [
      packages('git', 'make'),
      skipWhen(newEnough, packages(goPackage)),
      newEnough,
      job(`restore tool is built from ${source.ref}`, {
        unit: 'rpc-playbooks-build-restore-tool',
        script: buildScript({ ...source, directory: `${snapshotDirectory(vars)}/source`, binary, path }),
        done: (host) => isBuilt(host, path),
        progress: async () => ({ what: `building the restore tool from ${source.ref}` }),
      }),
    ],
    command: quote(path),
  };
}

/** @param wanted the lowest version, as `1.21` */
function goIsNewEnough(wanted: string): Resource {
  return expectation(
    `Go is ${wanted} or later`,
    async (host) => {
      const installed = await installedGo(host);
      return installed === undefined ? unknownUntil('Go is installed') : judgeGo(installed, wanted);
    },
    { hint: goHint(wanted) },
  );
}

async function isBuilt(host: Reader, path: string): Promise<Verdict> {
  const file = await host.stat(path);
  return file && (file.mode & 0o100) !== 0 ? ok : drift([{ what: 'restore tool', was: 'absent', wanted: path }]);
}

interface Build {
  readonly repository: string;
  readonly ref: string;
  readonly directory: string;
  readonly binary: string;
  readonly path: string;
}

/**
 * The source's own Makefile puts the binary into dist/. The tool gets its name only when it is whole.
 *
 * The node has github.com/fjl/memsize through go-ethereum. From Go 1.23 on the linker refuses it without -checklinkname=0, a flag that
 * earlier linkers do not know. The node's Makefile adds its version to LDFLAGS by `+=`, so the flag is set in the environment, where
 * both are kept. An LDFLAGS on the command line of make would replace the version, and GOFLAGS has no effect: the Makefile itself
 * gives -ldflags to go build.
 *
 * @returns a script of POSIX sh
 */
export function buildScript({ repository, ref, directory, binary, path }: Build): string {
  return `set -eu
export HOME=/root GIT_TERMINAL_PROMPT=0 PATH=${goRoot}/bin:$PATH
source=${quote(directory)}
tool=${quote(path)}
rm -rf "$source"
git clone --quiet --no-checkout -- ${quote(repository)} "$source"
commit=$(git -C "$source" rev-parse --verify --quiet --end-of-options ${quote(`${ref}^{commit}`)}) || {
  echo "there is no tag or commit "${quote(ref)}" in "${quote(repository)} >&2
  exit 1
}
git -C "$source" checkout --quiet --detach "$commit"
# Asked in the source: its go.mod may choose another version of Go.
case $(cd "$source" && go tool link -h 2>&1) in
  *-checklinkname*) export LDFLAGS=-checklinkname=0 ;;
esac
make -C "$source" build
built=$source/dist/${quote(binary)}
[ -x "$built" ] || { echo "the build made no dist/"${quote(binary)}", but: $(ls "$source/dist" 2>/dev/null)" >&2; exit 1; }
mkdir -p "$(dirname "$tool")"
install -m 0755 "$built" "$tool.new"
mv -f "$tool.new" "$tool"
`;
}
