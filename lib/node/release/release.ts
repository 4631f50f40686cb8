import { readFileSync } from 'node:fs';
import { command } from '../../engine/host/action.ts';
import { fileChange } from '../../engine/resource/change.ts';
import { file } from '../../engine/resource/file/file.ts';
import { drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import { stateDatabase } from '../databases/databases.ts';
import { type RenderContext, renderHost } from '../render/render.ts';
import { product } from '../server/product.ts';
import { isDeployed, readDeployed, readReleases, releasesFolder } from './manifest.ts';

const script = readFileSync(new URL('../../../templates/host/release.sh', import.meta.url));
const program = `/usr/local/lib/${product}/release`;

/** What is deployed to a host is kept as a release: rendered files and images, once all of it was checked. */
export async function releaseIsKept(context: RenderContext): Promise<readonly Resource[]> {
  const { files, services } = await renderHost(context);
  const paths = files.map(({ path }) => path);
  const containers = Object.entries(services).flatMap(([name, service]) => (service ? [name] : []));
  const { user, database } = context.host.groups.includes('database')
    ? stateDatabase(context.vars)
    : { user: '', database: '' };
  const keep: Resource = {
    name: 'what is deployed is kept as a release',
    follows: paths.map((path) => ({ what: fileChange(path), effect: 'is kept', certain: true })),
    async check(host) {
      // In one request.
      const [releases, deployed] = await Promise.all([readReleases(host), readDeployed(host, paths, containers)]);
      const [missing] = deployed.notRunning;
      if (missing !== undefined) return unknownUntil(`${missing} is running`);
      const current = releases.find(({ isCurrent }) => isCurrent);
      if (current && isDeployed(current, deployed)) return ok;
      const was = current ? `release ${current.number}` : 'no release';
      return drift(
        [{ what: 'deployed', was, wanted: 'a release of these files and images' }],
        [command`${program} ${releasesFolder} ${containers.join(' ')} ${user} ${database} ${paths}`],
      );
    },
  };
  return [file(program).content(script).mode(0o755), keep];
}
