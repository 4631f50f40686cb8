import type { Facts } from '../../engine/host/facts/facts.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import { candidateVersions } from '../../engine/resource/system/packages.ts';

/**
 * The lowest version with what templates/gateway needs: arrays of counters, filters in Lua, and
 * the system's certificates for a provider.
 */
const lowest = '2.6';

/** Of supported distributions, the package that is older (apt-cache policy haproxy). */
const tooOld: Readonly<Record<string, string>> = { 'ubuntu 22.04': '2.4' };

/**
 * The installed HAProxy, else the one that the package manager would install, is new enough for a
 * gateway, or for several providers of layer 1. Without package lists that is the distribution's own.
 */
export function haproxyIsNewEnough(
  { id, version, title }: Facts['distribution'],
  purpose = 'the gateway',
): Resource {
  const judge = (found: string, where: string) => {
    const number = /^(?:\d+:)?(\d+\.\d+(?:\.\d+)?)/.exec(found)?.[1] ?? found;
    // By numbers: 2.10 is later than 2.9.
    const isEnough = number.localeCompare(lowest, 'en', { numeric: true }) >= 0;
    return isEnough ? ok : drift(`${title} has HAProxy ${number}${where}`);
  };
  return expectation(`HAProxy ${lowest} or later is available for ${purpose}`, {
    async check(host) {
      const [{ installed, version: present }, candidates] = await Promise.all([
        host.package('haproxy'),
        candidateVersions(host, ['haproxy']),
      ]);
      if (installed && present !== undefined) return judge(present, ' installed');
      const candidate = candidates.get('haproxy');
      if (candidate !== undefined) return judge(candidate, '');
      const usual = tooOld[`${id} ${version}`];
      return usual === undefined ? ok : judge(usual, ' (no package list of the host has it yet)');
    },
    hint: `use a host with Debian 12 or 13 or Ubuntu 24.04 for ${purpose}, or install a package haproxy of ${lowest} or later`,
  });
}
