// Makes hosts of the lab bare again, as after their creation.
import { createHosts } from './hosts.mjs';
import { ensureHostImage } from './images.mjs';
import { ensureClientKey } from './keys.mjs';
import { LabError } from './lab-error.mjs';
import { hostNamed } from './layout.mjs';
import { withLock } from './lock.mjs';
import { waitForHost } from './reach.mjs';
import { print, runAsScript } from './script.mjs';

/**
 * @param {readonly string[]} names of hosts; the lab has to be up
 * @param {{ log?: import('./script.mjs').Log }} [options]
 */
export async function resetHosts(names, { log = print } = {}) {
  const wanted = [...new Set(names)].map(hostNamed);
  await withLock(log, async () => {
    await ensureHostImage(log);
    await createHosts(wanted, await ensureClientKey());
    await Promise.all(wanted.map((host) => waitForHost(host)));
  });
  log(`lab: bare again: ${wanted.map((host) => host.name).join(', ')}`);
}

await runAsScript(import.meta.url, async (names) => {
  if (names.length === 0) throw new LabError('Which host?', 'Usage: npx zx lab/reset.mjs HOST…');
  await resetHosts(names);
});
