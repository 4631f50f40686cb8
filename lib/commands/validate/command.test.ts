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

test('plain text between public addresses is a warning with its place, and the inventory is valid', async () => {
  const open = await labDeployment([
    [['groups', 'database', 'db-1', 'address'], '203.0.113.5'],
    [['groups', 'rpc'], { 'rpc-1': { address: '203.0.113.6' } }],
  ]);
  const { code, said } = await validate('-i', open);
  expect(code).toBe(0);
  expect(said).toMatch(
    /^warning: \S+lab\.yaml:\d+:\d+: db-1, rpc-1 have public addresses, and SQL between the hosts travels in plain text\n {2}encrypt it: tls, .*\nlab is valid/,
  );
});
