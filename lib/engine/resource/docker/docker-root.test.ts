import fc from 'fast-check';
import { expect, test } from 'vitest';
import { drift } from '../resource.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { dockerRoot, oldCopyIsRemoved, unfinishedMove, withDataRoot } from './docker-root.ts';

test('the data-root is set, and all other keys stay', () => {
  const text = withDataRoot(
    '{"insecure-registries":["r:5000"],"log-opts":{"max-size":"10m"},"data-root":"/old"}',
    '/data/docker',
  );
  expect(JSON.parse(text)).toEqual({
    'insecure-registries': ['r:5000'],
    'log-opts': { 'max-size': '10m' },
    'data-root': '/data/docker',
  });
  // The move script searches for exactly this.
  expect(text).toContain('"data-root": "/data/docker"');
});

test('the older name of the key is removed', () => {
  expect(JSON.parse(withDataRoot('{"graph":"/old","debug":true}', '/d'))).toEqual({ debug: true, 'data-root': '/d' });
});

test('a missing file and an empty file are an empty object', () => {
  expect(JSON.parse(withDataRoot('', '/d'))).toEqual({ 'data-root': '/d' });
  expect(JSON.parse(withDataRoot(' \n', '/d'))).toEqual({ 'data-root': '/d' });
});

test.each(['{', '[]', '"x"', 'null', '7'])('anything but a JSON object is refused: %s', (text) => {
  expect(() => withDataRoot(text, '/d')).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(
        /^\/etc\/docker\/daemon\.json (is not valid JSON.*|holds JSON, but not an object); it is left as it is$/,
      ),
      hint: 'fix it by hand, then run again',
    }),
  );
});

test('a number that JavaScript cannot represent is refused', () => {
  expect(() => withDataRoot('{"default-ulimits":{\n"nofile":{"Hard":9223372036854775807}}}', '/d')).toThrow(
    expect.objectContaining({
      message: '/etc/docker/daemon.json has a number in line 2 that would lose digits; it is left as it is',
      hint: 'write a smaller number there, or make the change by hand: a file that is right already is not written again',
    }),
  );
});

test('all other keys are kept, whatever they are', () => {
  const keys = fc.dictionary(
    fc.string().filter((key) => !['graph', 'data-root', '__proto__'].includes(key)),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(keys, (given) => {
      const { 'data-root': root, ...others } = JSON.parse(
        withDataRoot(JSON.stringify(given), '/data/docker'),
      ) as Record<string, unknown>;
      expect(root).toBe('/data/docker');
      expect(others).toEqual(JSON.parse(JSON.stringify(given)));
    }),
  );
});

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
  await expect(move.apply(fakeHost([tools], rsync))).rejects.toMatchObject({
    message: 'the docker engine does not answer',
    hint: 'see systemctl status docker and journalctl -u docker',
  });
  const other = [tools, [/^docker info/, '/var/lib/docker\n'], [/^find/, '/data/docker/letters\n']] as const;
  await expect(move.apply(fakeHost(other, rsync))).rejects.toMatchObject({
    message: '/data/docker, which is to hold the data of docker, holds other data: /data/docker/letters',
    hint: 'check what it is for, and move it away: mv /data/docker /data/docker.old',
  });
});
