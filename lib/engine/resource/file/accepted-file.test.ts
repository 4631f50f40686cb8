import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryForAll } from '../../host/testing/local-connection.ts';
import { ok } from '../resource.ts';
import { applyDrift } from '../testing/test-host.ts';
import { thisMachine } from '../testing/this-machine.ts';
import { acceptedFile } from './accepted-file.ts';

const host = await thisMachine();
const directory = directoryForAll();
const path = join(directory, 'script');
const script = (content: string) =>
  acceptedFile({ path, content, judge: ['sh', '-n'], source: 'roles/a.ts', mode: 0o750 });

test('a file that its program refuses never replaces a right one, and the place of its content is named', async () => {
  await applyDrift(host, script('true\n'));
  expect(await script('true\n').check(host)).toEqual(ok);
  await expect(applyDrift(host, script('if\n'))).rejects.toMatchObject({
    message: expect.stringMatching(
      new RegExp(`^sh refuses roles/a.ts, so ${path} is left as it is: .*roles/a.ts: [0-9]+: Syntax error`),
    ),
    hint: 'correct roles/a.ts',
  });
  expect([readFileSync(path, 'utf8'), readdirSync(directory)]).toEqual(['true\n', ['script']]);
});
