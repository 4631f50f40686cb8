import { readFileSync } from 'node:fs';
import { command } from '../lib/engine/host/step.ts';
import { sha256Of } from '../lib/engine/resource/file/content.ts';
import { file } from '../lib/engine/resource/file/file.ts';
import { drift, ok, type Resource, unknownUntil } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { stateDatabase } from '../lib/node/databases/databases.ts';
import { isDeployed, readDeployed, readReleases, releasesFolder } from '../lib/node/release/manifest.ts';
import { renderHost } from '../lib/node/render/render.ts';
import { product } from '../lib/node/server/product.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

const script = readFileSync(new URL('../templates/host/release.sh', import.meta.url));
const program = `/usr/local/lib/${product}/release`;

/** The last five releases of a host, for `playbooks/rollback.mjs`. It follows all checks: a release is something that works. */
export default role<Variables>('release', async (context) => {
  const { files, services } = await renderHost(context);
  const paths = files.map(({ path }) => path);
  const wanted = files.map(({ path, content }) => [path, sha256Of(Buffer.from(content.text))] as const);
  const containers = Object.entries(services).flatMap(([name, service]) => (service ? [name] : []));
  const { user, database } = context.host.groups.includes('database')
    ? stateDatabase(context.vars)
    : { user: '', database: '' };
  const keep: Resource = {
    name: 'what is deployed is kept as a release',
    async check(host) {
      // In one request.
      const [releases, deployed] = await Promise.all([readReleases(host), readDeployed(host, paths, containers)]);
      const current = releases.find(({ isCurrent }) => isCurrent);
      // A file that was changed by hand is put right before this comes to its turn.
      if (current && isDeployed(current, { ...deployed, files: wanted })) return ok;
      const other = wanted.find(([, sum], at) => sum !== deployed.files[at]?.[1]);
      if (other) return unknownUntil(`${other[0]} is in place`);
      const [missing] = deployed.notRunning;
      if (missing !== undefined) return unknownUntil(`${missing} is running`);
      const was = current ? `release ${current.number}` : 'no release';
      return drift(
        [{ what: 'deployed', was, wanted: 'a release of these files and images' }],
        [command`${program} ${releasesFolder} ${containers.join(' ')} ${user} ${database} ${paths}`],
      );
    },
  };
  return [file(program).content(script).mode(0o755), keep];
});
