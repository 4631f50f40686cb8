import { expect, test } from 'vitest';
import { Failure } from '../../engine/problem/problem.ts';
import { contextOf } from '../../node/testing/role-context.ts';
import { withAWayBack } from './put-back.ts';

test('a host whose release lies before a migration, or that does not answer, stays out, and the operator reads why', async () => {
  const { hosts } = await contextOf({});
  const answers: Readonly<Record<string, () => Promise<unknown>>> = {
    'db-1': async () => undefined,
    'rpc-1': async () =>
      new Failure('a database migration lies in between', { hint: 'go back to a snapshot' }),
    'rpc-2': () => Promise.reject(new Error('no route')),
  };
  const said: string[] = [];
  const refusal = ({ name }: { readonly name: string }) => answers[name]?.() ?? Promise.resolve(undefined);
  const back = await withAWayBack({ refusal }, hosts, (line) => said.push(line));
  expect(back.map(({ name }) => name)).toEqual(['db-1']);
  expect(said).toEqual([
    'gateway.rollback is auto, and rpc-1 stays out of service: a database migration lies in between\n  go back to a snapshot',
    expect.stringMatching(/^gateway\.rollback is auto, and rpc-2 stays out of service: .*no route/),
  ]);
});
