import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf, refusal } from '../testing/role-context.ts';
import { stateDatabaseAnswers } from './reachable.ts';

test('a state database that is starting, or cannot be reached, is reported with what to check', async () => {
  const resources = [stateDatabaseAnswers((await contextOf({})).host)];
  const answers = (exitCode: number) => fakeHost([[/^pg_isready/, { exitCode }]]);
  const hint =
    "check docker ps on db-1, and firewalls between the two servers; role firewall of db-1 (--role firewall) allows the inventory's addresses, or firewall.connects_from";
  expect(await refusal(resources, 'state database on db-1 answers', answers(1))).toEqual([
    expect.stringMatching(
      /^state database on db-1 answers: \S+:5432 refuses connections: it may be starting$/,
    ),
    hint,
  ]);
  expect(await refusal(resources, 'state database on db-1 answers', answers(2))).toEqual([
    expect.stringMatching(
      /^state database on db-1 answers: unknown until state-db is running on db-1 and port 5432 of \S+ can be reached from/,
    ),
    hint,
  ]);
});
