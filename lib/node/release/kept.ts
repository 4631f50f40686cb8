import { command } from '../../engine/host/step.ts';
import { sha256Of } from '../../engine/resource/file/content.ts';
import { drift, ok, type Resource, unknownUntil } from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { stateDatabase } from '../databases/databases.ts';
import { renderHost } from '../render/render.ts';
import { product } from '../server/product.ts';
import type { Variables } from '../variables/variables.ts';
import { isDeployed, readDeployed, readReleases, releasesFolder } from './manifest.ts';

/** Keeps what is deployed as a release. */
export const releaseProgram = `/usr/local/lib/${product}/release`;

/** What is deployed on a host is its current release. */
export async function releaseIsKept(context: Context<Variables>): Promise<Resource> {
  const { files, services } = await renderHost(context);
  const paths = files.map(({ path }) => path);
  const wanted = files.map(({ path, content }) => [path, sha256Of(Buffer.from(content.text))] as const);
  const containers = Object.entries(services).flatMap(([name, service]) => (service ? [name] : []));
  const { user, database } = context.host.groups.includes('database')
    ? stateDatabase(context.vars)
    : { user: '', database: '' };
  return {
    name: 'what is deployed is kept as a release',
    async check(host) {
      // In one request.
      const [releases, deployed] = await Promise.all([
        readReleases(host),
        readDeployed(host, paths, containers),
      ]);
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
        [command`${releaseProgram} ${releasesFolder} ${containers.join(' ')} ${user} ${database} ${paths}`],
      );
    },
  };
}
