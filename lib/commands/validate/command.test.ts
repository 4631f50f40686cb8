import { expect, test } from 'vitest';
import { labDeployment } from '../../node/testing/lab-deployment.ts';
import { run as validateCommand } from './command.ts';

async function validate(...args: readonly string[]) {
  const said: string[] = [];
  const say = (line: string) => void said.push(line);
  return { code: await validateCommand(args, { say, complain: say }), said: said.join('\n') };
}

test('a valid inventory, of which every file renders', async () => {
  expect(await validate('-i', await labDeployment())).toEqual({
    code: 0,
    said: expect.stringMatching(/^lab is valid: 3 hosts, [1-9]\d* files, all secrets are there$/),
  });
});

test('a missing secret and a wrong value are reported with their places', async () => {
  const missing = await labDeployment([
    [['vars', 'credentials', 'pool', 'password'], 'env:NOT_SET_ANYWHERE'],
  ]);
  const run = await validate('-i', missing);
  expect(run.code).toBe(3);
  expect(run.said).toMatch(
    /lab\.yaml:\d+:\d+: credentials\.pool\.password: environment variable NOT_SET_ANYWHERE is not set/,
  );
  expect((await validate('-i', 'mainnet')).said).toContain('is not filled in');
  expect((await validate()).said).toContain('no --inventory given');
});
