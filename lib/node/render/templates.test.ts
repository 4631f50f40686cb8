import { expect, test } from 'vitest';
import { templateOf } from './templates.ts';

test('a missing template is named, with how to get it back', () => {
  expect(() => templateOf('current', 'gone.toml')).toThrow(
    expect.objectContaining({
      message: 'the template templates/current/gone.toml does not exist',
      hint: 'put the template back: git checkout templates/',
    }),
  );
});
