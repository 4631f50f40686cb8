import { genesisFile } from '../lib/node/genesis-file.ts';
import { renderHost } from '../lib/node/render.ts';
import type { Variables } from '../lib/node/variables.ts';
import { directory } from '../lib/resource/directory.ts';
import { download } from '../lib/resource/download.ts';
import { file } from '../lib/resource/file.ts';
import { line } from '../lib/resource/line.ts';
import { role } from '../lib/resource/role.ts';

/** The files that the containers mount, each host's own (spec part 2), in a folder that only root may enter. */
export default role<Variables>('configuration', async ({ host, vars, hosts }) => {
  const { files } = await renderHost({ host, vars, hosts });
  const downloads = `${vars.paths.deployment}/downloads`;
  const genesis = `${downloads}/genesis.json`;
  // The older restore tool reaches the state database by a name, on the server itself.
  const needsName = vars.generation === 'older' && host.groups.includes('database');
  const hostsFile = needsName ? [line('/etc/hosts', '127.0.0.1 state-db').matching(/^[^#]*\sstate-db(\s|$)/)] : [];
  return [
    directory(vars.paths.deployment).mode(0o700),
    directory(downloads),
    ...hostsFile,
    // First: one that does not fit the generation ends it before a container could read the others.
    download(vars.network.genesis.url).to(genesis).sha256(vars.network.genesis.sha256),
    genesisFile(genesis, vars),
    ...files.map(({ path, content, mode, group }) => file(path).content(content).mode(mode).group(group)),
  ];
});
