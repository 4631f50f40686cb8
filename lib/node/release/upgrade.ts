import { sha256Of } from '../../engine/resource/file/content.ts';
import { drift, expectation, ok, type Resource } from '../../engine/resource/resource.ts';
import { programVersion } from '../../engine/run/lock/lock-holder.ts';
import { renderHost } from '../render/render.ts';
import type { RenderContext } from '../render/render-context.ts';
import { readReleases } from './manifest.ts';

/**
 * The files that this version of the program renders are those of the release that another version
 * made.
 */
export async function upgradeChangesNoFile(context: RenderContext): Promise<Resource> {
  const { files } = await renderHost(context);
  const wanted = new Map(files.map(({ path, content }) => [path, sha256Of(Buffer.from(content.text))]));
  return expectation('this version of the program makes the same files as the one before', {
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
  });
}
