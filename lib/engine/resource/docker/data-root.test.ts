import fc from 'fast-check';
import { expect, test } from 'vitest';
import { withDataRoot } from './data-root.ts';

test('the data-root is set, and every other key stays', () => {
  const text = withDataRoot(
    '{"insecure-registries":["r:5000"],"log-opts":{"max-size":"10m"},"data-root":"/old"}',
    '/data/docker',
  );
  expect(JSON.parse(text)).toEqual({
    'insecure-registries': ['r:5000'],
    'log-opts': { 'max-size': '10m' },
    'data-root': '/data/docker',
  });
  // The move script looks for exactly this.
  expect(text).toContain('"data-root": "/data/docker"');
});

test('the older name of the key goes', () => {
  expect(JSON.parse(withDataRoot('{"graph":"/old","debug":true}', '/d'))).toEqual({
    debug: true,
    'data-root': '/d',
  });
});

test('no file and an empty file are an empty object', () => {
  expect(JSON.parse(withDataRoot('', '/d'))).toEqual({ 'data-root': '/d' });
  expect(JSON.parse(withDataRoot(' \n', '/d'))).toEqual({ 'data-root': '/d' });
});

test.each(['{', '[]', '"x"', 'null', '7'])('what is not a JSON object is refused: %s', (text) => {
  expect(() => withDataRoot(text, '/d')).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(
        /^\/etc\/docker\/daemon\.json (is not valid JSON.*|holds JSON, but not an object); the file was not changed$/,
      ),
      hint: 'fix the file on the host, then run again',
    }),
  );
});

test('a number that would become another one is refused', () => {
  expect(() => withDataRoot('{"default-ulimits":{\n"nofile":{"Hard":9223372036854775807}}}', '/d')).toThrow(
    expect.objectContaining({
      message:
        '/etc/docker/daemon.json has a number in line 2 that would lose digits; the file was not changed',
      hint: 'write a smaller number there, or make the change by hand: a file that is right already is not written again',
    }),
  );
});

test('whatever keys there are, they survive', () => {
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
