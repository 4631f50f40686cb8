import { download } from '../lib/engine/resource/download/download.ts';
import { directory } from '../lib/engine/resource/file/directory.ts';
import { file } from '../lib/engine/resource/file/file.ts';
import { line } from '../lib/engine/resource/file/line.ts';
import { noLine } from '../lib/engine/resource/file/no-line.ts';
import { role } from '../lib/engine/resource/role.ts';
import { genesisFile } from '../lib/node/chain/genesis-file.ts';
import { leftSyncIsNotRestarted } from '../lib/node/chain/left-sync.ts';
import { afterPasswordChange } from '../lib/node/databases/move-login.ts';
import { renderHost } from '../lib/node/render/render.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/**
 * The files that the containers mount, each host's own (spec part 2), in a folder that only root
 * may enter.
 */
export default role<Variables>('configuration', async (context) => {
  const { host, vars } = context;
  const rendered = (await renderHost(context)).files;
  const files = rendered.map(({ path, content, mode, group }) =>
    file(path).content(content).mode(mode).group(group),
  );
  const downloads = `${vars.paths.deployment}/downloads`;
  const genesis = `${downloads}/genesis.json`;
  // The older restore tool reaches the state database by a name, on the server itself.
  const ownLine = '127.0.0.1 state-db';
  const hostsFile =
    vars.generation === 'older'
      ? line('/etc/hosts', ownLine, /^[^#]*\sstate-db(\s|$)/)
      : noLine('/etc/hosts', ownLine);
  const nodeFiles = [
    directory(downloads),
    ...(host.groups.includes('database') ? [hostsFile] : []),
    // First: one that does not fit the generation ends it before a container could read the
    // others.
    download({ url: vars.network.genesis.url, path: genesis, sha256: vars.network.genesis.sha256 }),
    genesisFile(genesis, vars),
  ];
  return [
    // Before the files change that it would read.
    ...(host.groups.includes('database') ? [] : [leftSyncIsNotRestarted()]),
    directory(vars.paths.deployment).mode(0o700),
    // No component of the node runs on it.
    ...(host.groups.includes('replica') ? [] : nodeFiles),
    ...(host.groups.includes('replica') ? files : files.map((each) => afterPasswordChange(context, each))),
  ];
});
