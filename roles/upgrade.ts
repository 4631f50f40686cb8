import { sha256Of } from '../lib/engine/resource/file/content.ts';
import { drift, expectation, ok } from '../lib/engine/resource/resource.ts';
import { role } from '../lib/engine/resource/role.ts';
import { programVersion } from '../lib/engine/run/lock/lock-holder.ts';
import { readReleases } from '../lib/node/release/manifest.ts';
import { renderHost } from '../lib/node/render/render.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** On the first run after an upgrade of this program: names the files that this version renders differently from the one before. */
export default role<Variables>('upgrade', async (context) => {
  const { files } = await renderHost(context);
  const wanted = new Map(files.map(({ path, content }) => [path, sha256Of(Buffer.from(content.text))]));
  return [
    expectation('this version of the program makes the same files as the one before', {
      severity: 'should',
      async check(host) {
        const current = (await readReleases(host)).find(({ isCurrent }) => isCurrent);
        if (!current) return ok;
        const paths = [...new Set([...current.files.keys(), ...wanted.keys()])];
        const differ = paths.filter((path) => current.files.get(path) !== wanted.get(path));
        if (differ.length === 0) return ok;
        const [was, now] = [current.made?.version, programVersion()];
        if (was === now) return ok;
        const by = was === undefined ? 'an earlier version' : `version ${was}`;
        const count = `differences in ${differ.length} of ${paths.length} files`;
        return drift(`${by} deployed it, this is ${now}: ${count}: ${differ.join(', ')}`);
      },
      hint: 'what the inventory did not change, the upgrade did: this plan shows each difference (--diff: whole), CHANGELOG.md says why',
    }),
  ];
});
