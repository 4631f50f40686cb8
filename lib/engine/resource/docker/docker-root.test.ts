import { expect, test } from 'vitest';
import { applyDrift, drift } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { dockerRoot, oldCopyIsRemoved, unfinishedMove } from './docker-root.ts';

test('an interrupted move is reported before anything else', async () => {
  const host = fakeHost([], { stat: async () => ({}) as never });
  const unfinished = drift("a move of docker's data was interrupted, and has to be finished");
  expect(await unfinishedMove('p').check(host)).toEqual(unfinished);
  expect(await dockerRoot({ product: 'p', root: '/data/docker', mountPoint: '/data' }).check(host)).toEqual(unfinished);
});

test('the old copy is reported with the command that removes it', async () => {
  const host = fakeHost([[/old-copy/, '/var/lib/docker\n']]);
  expect(await oldCopyIsRemoved('p').check(host)).toEqual(
    drift('it is still at /var/lib/docker; when all is well, free its room: find /var/lib/docker -mindepth 1 -delete'),
  );
});

test('no move starts with an engine that does not answer, or over foreign data', async () => {
  const move = dockerRoot({ product: 'p', root: '/data/docker', mountPoint: '/data' });
  const rsync = { package: async () => ({ installed: true, version: '3' }) };
  const tools = [/command -v/, ''] as const;
  await expect(applyDrift(fakeHost([tools], rsync), move)).rejects.toMatchObject({
    message: 'the docker engine does not answer',
    hint: 'see systemctl status docker and journalctl -u docker',
  });
  const other = [tools, [/^docker info/, '/var/lib/docker\n'], [/^find/, '/data/docker/letters\n']] as const;
  await expect(applyDrift(fakeHost(other, rsync), move)).rejects.toMatchObject({
    message: '/data/docker, which is to hold the data of docker, holds other data: /data/docker/letters',
    hint: 'check what this path is used for, then move it: mv /data/docker /data/docker.old',
  });
});
