import { command } from '../../host/action.ts';
import type { Reader } from '../../host/host.ts';
import { jsonFile } from '../file/json-file.ts';
import { drift, expectation, ok, type Resource, unitChange, type Verdict } from '../resource.ts';
import { settings } from './data-root.ts';
import { untilDockerRuns } from './docker-engine.ts';

const title = 'docker keeps images below its root';

/**
 * Docker 29 gives a new engine the image store of containerd, in /var/lib/containerd, which a data root on another disk does not move.
 * An engine without images and containers gets the store below its root (https://docs.docker.com/engine/storage/containerd/).
 * Another one keeps its store, as a change would hide its images and containers: a warning says so.
 */
export function imagesBelowDockerRoot(): Resource[] {
  const file = jsonFile(settings, { features: { 'containerd-snapshotter': false } });
  return [
    {
      name: title,
      changes: (differences) => [...(file.changes?.(differences) ?? []), unitChange('docker.service')],
      async check(host) {
        const store = await storeOf(host);
        if (typeof store !== 'string') return store;
        if (store !== 'empty') return ok;
        const verdict = await file.check(host);
        if (verdict.is !== 'drift' || !Array.isArray(verdict.change)) return verdict;
        return { ...verdict, change: [...verdict.change, command`systemctl restart docker.service`] };
      },
    },
    expectation(`${title}, also those that were there`, {
      check: async (host) => {
        const store = await storeOf(host);
        if (typeof store !== 'string') return store;
        return store === 'used' ? drift('they are in /var/lib/containerd, which stays on its disk') : ok;
      },
      severity: 'should',
    }),
  ];
}

/** Whether containerd keeps the images, and whether there are any; or why that is not known yet. */
async function storeOf(host: Reader): Promise<'below the root' | 'empty' | 'used' | Verdict> {
  const [until, info] = await Promise.all([
    untilDockerRuns(host),
    // A stopped engine is not queried: its socket would start it.
    host.$`systemctl is-active --quiet docker.service && docker info --format ${'{{.Images}} {{.Containers}} {{.DriverStatus}}'}`,
  ]);
  if (until) return until;
  if (!info.stdout.includes('io.containerd.snapshotter')) return 'below the root';
  return info.stdout.startsWith('0 0 ') ? 'empty' : 'used';
}
