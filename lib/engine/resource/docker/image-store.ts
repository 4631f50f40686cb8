import type { Reader } from '../../host/host.ts';
import { command } from '../../host/step.ts';
import { jsonFile } from '../file/json-file.ts';
import { drift, expectation, ok, type Resource, unitChange, type Verdict } from '../resource.ts';
import { settings } from './data-root.ts';
import { engineInfo, untilDockerRuns } from './docker-engine.ts';

const title = 'docker keeps images below its root';

/**
 * Docker 29 gives a new engine the image store of containerd, in /var/lib/containerd, which a data
 * root on another disk does not move. An engine without images and containers gets the store below
 * its root (https://docs.docker.com/engine/storage/containerd/). Another one keeps its store, as a
 * change would hide its images and containers: a warning says so.
 */
export function imagesBelowDockerRoot(): Resource[] {
  const file = jsonFile(settings, { features: { 'containerd-snapshotter': false } });
  return [
    {
      name: title,
      changes: (differences) => [...(file.changes?.(differences) ?? []), unitChange('docker.service')],
      check: byStore(async (store, host) => {
        if (store !== 'empty') return ok;
        const verdict = await file.check(host);
        if (verdict.is !== 'drift' || !Array.isArray(verdict.change)) return verdict;
        return { ...verdict, change: [...verdict.change, command`systemctl restart docker.service`] };
      }),
    },
    expectation(`${title}, also those that were there`, {
      check: byStore(async (store) =>
        store === 'used' ? drift('they are in /var/lib/containerd, which stays on its disk') : ok,
      ),
      severity: 'should',
    }),
  ];
}

/**
 * A check by the store of containerd, and whether it has images. An engine with another store is
 * right.
 */
function byStore(judge: (store: 'empty' | 'used', host: Reader) => Promise<Verdict>) {
  return async (host: Reader): Promise<Verdict> => {
    const [until, info] = await Promise.all([untilDockerRuns(host), engineInfo(host)]);
    if (until) return until;
    if (!info?.storage.includes('io.containerd.snapshotter')) return ok;
    return judge(info.isEmpty ? 'empty' : 'used', host);
  };
}
