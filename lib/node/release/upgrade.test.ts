import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import upgrade from '../../../roles/upgrade.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { programVersion, thisHolder } from '../../engine/run/lock/lock-holder.ts';
import { renderHost } from '../render/render.ts';
import { contextOf } from '../testing/role-context.ts';

/**
 * Checks a host whose current release was made by a version.
 *
 * @param spoiled paths whose content was another one then
 */
async function checked(
  version: string | undefined,
  spoiled: readonly string[] = [],
  gone: readonly string[] = [],
) {
  const context = await contextOf({ group: 'rpc' });
  const rendered = await renderHost(context);
  const sumOf = (text: string) => createHash('sha256').update(text).digest('hex');
  const files = rendered.files.map(
    ({ path, content }) => `file ${spoiled.includes(path) ? 'x' : sumOf(content.text)} ${path}`,
  );
  const made = JSON.stringify({ ...thisHolder('deploy', 'lab', 0), version });
  const lines = [...files, ...gone.map((path) => `file x ${path}`)].map((line) => `4/manifest:${line}`);
  const host = fakeHost([[/grep -r/, [...lines, `4/made:${made}`].join('\n')]], {
    stat: async () => ({ ...rootsFile, type: 'link' as const, target: '4' }),
  });
  const [resource] = await upgrade.resources(context);
  return { verdict: await resource?.check(host), resource };
}

test('the first run of another version names the files that it makes in another way, and is only a warning', async () => {
  const config = '/opt/rpc-node/node.config.toml';
  const { verdict, resource } = await checked('0.0.9+abc', [config], ['/opt/rpc-node/old.json']);
  expect(verdict).toMatchObject({
    is: 'drift',
    note: `version 0.0.9+abc deployed it, this is ${programVersion()}: differences in 2 of 4 files: ${config}, /opt/rpc-node/old.json`,
  });
  expect(verdict).not.toHaveProperty('change');
  expect(resource).toMatchObject({ expects: 'should', hint: expect.stringContaining('CHANGELOG.md') });
  expect((await checked(undefined, [config])).verdict).toMatchObject({
    note: expect.stringMatching(/^an earlier version deployed it, .*: differences in 1 of 3 files: /),
  });
});

test('an upgrade that makes the same files, a change of the inventory alone, and a bare host are no warning', async () => {
  expect((await checked('0.0.9+abc')).verdict).toEqual({ is: 'ok' });
  expect((await checked(programVersion(), ['/opt/rpc-node/node.config.toml'])).verdict).toEqual({ is: 'ok' });
  const [resource] = await upgrade.resources(await contextOf({ group: 'rpc' }));
  expect(await resource?.check(fakeHost([[/grep/, '']]))).toEqual({ is: 'ok' });
});
