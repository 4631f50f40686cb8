import type { Connection } from '../../host/connection.ts';
import type { Facts } from '../../host/facts/facts.ts';
import { sessionOver } from '../../host/session.ts';
import type { Inventory } from '../../inventory/inventory.ts';
import { thisMachine } from '../../inventory/testing/this-machine.ts';
import type { Resource } from '../../resource/resource.ts';
import { role } from '../../resource/role.ts';
import { Secret } from '../../secret/secret.ts';
import type { RunEvent } from '../events.ts';
import { play, playbook } from '../playbook.ts';
import { run } from '../run.ts';
import type { RunOptions } from '../run-options.ts';

/** A request as it was sent to a host. */
export interface Sent {
  readonly script: string;
  readonly stdin: string;
}

/** Runs resources on one host, over a connection, and closes it. Records all that is sent. */
export async function recordedRun(
  real: Connection,
  resources: readonly Resource[],
  options: Partial<RunOptions> = {},
  onEvent?: (event: RunEvent) => void,
) {
  const sent: Sent[] = [];
  const connection: Connection = {
    ...real,
    get execs() {
      return sent.length;
    },
    exec: (script, given = {}) => {
      const { stdin = '' } = given;
      sent.push({ script, stdin: stdin instanceof Secret ? stdin.reveal() : stdin.toString() });
      return real.exec(script, given);
    },
  };
  const interrupt = options.interrupt ?? new AbortController().signal;
  const session = sessionOver(connection, {} as Facts, interrupt);
  const inventory: Inventory<object> = {
    name: 'test',
    file: 'test.yaml',
    hosts: [{ name: 'here', groups: ['g'], connection: thisMachine, vars: {} }],
  };
  const events: RunEvent[] = [];
  const result = await run(
    playbook('test', 'tests.', [play('all', { hosts: 'all', roles: [role('r', () => resources)] })]),
    inventory,
    async () => session,
    { check: false, forks: 1, hosts: new Set(['here']), selects: () => true, interrupt, ...options },
    (event) => {
      events.push(event);
      onEvent?.(event);
    },
  );
  const done = events.filter((event) => event.type === 'resource-done');
  return {
    sent,
    events,
    done,
    outcomes: done.map(({ task, outcome }) => `${task.resource} ${outcome}`),
    result,
  };
}
