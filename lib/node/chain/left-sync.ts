import * as z from 'zod';
import { command } from '../../engine/host/step.ts';
import { configHashLabel } from '../../engine/resource/docker/compose-service.ts';
import { drift, ok, type Resource, task } from '../../engine/resource/resource.ts';

/** The part of `docker inspect` that is used. */
const inspected = z.object({ HostConfig: z.object({ RestartPolicy: z.object({ Name: z.string() }) }) });

/**
 * Docker does not start a container `sync` that is left on an RPC server, a former Database+Sync
 * server. After a reboot it would read the files of the RPC server, which name the state database
 * of the new one. A container of somebody else is left alone.
 */
export function leftSyncIsNotRestarted(): Resource {
  return task('Docker does not start a container sync that is left here', {
    check: async (host) => {
      const state = await host.container('sync');
      const policy = inspected.safeParse(state?.raw).data?.HostConfig.RestartPolicy.Name;
      if (!state || state.labels[configHashLabel] === undefined || policy === undefined || policy === 'no')
        return ok;
      const update = command`docker update --restart no sync`;
      return drift([{ what: 'restart policy of the container sync', was: policy, wanted: 'no' }], [update]);
    },
  });
}
