import { expect, test } from 'vitest';
import { ok } from '../resource.ts';
import { textAfter } from '../testing/edited-text.ts';
import { fakeHost } from '../testing/fake-host.ts';
import { noLine } from './no-line.ts';

const gone = () => noLine('/etc/f', 'x=1');

test('only lines that are exactly this one are removed', async () => {
  expect(await textAfter(gone(), 'a\nx=1\nb\nx=1')).toBe('a\nb');
  expect(await textAfter(gone(), 'x=1\n')).toBe('');
  for (const content of ['', 'a\n', 'x=12\n', ' x=1\n', '#x=1\n', 'x=1 y\n']) {
    expect(await textAfter(gone(), content)).toBe(content);
  }
});

test('a file that does not exist has no such line', async () => {
  expect(await gone().check(fakeHost([]))).toBe(ok);
});
