import { expect, test } from 'vitest';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { directoryThatItsContainerOwns } from './data-directory.ts';

test('a file in the place of a data directory is left alone', async () => {
  const directory = directoryThatItsContainerOwns('/data/state-db');
  const host = fakeHost([], { stat: async (path) => (path.endsWith('/.') ? undefined : rootsFile) });
  await expect(applyDrift(host, directory)).rejects.toThrow(
    '/data/state-db is a file, and has to be a directory',
  );
});
