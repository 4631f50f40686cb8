import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { Output } from '../lib/engine/host/output.ts';
import { shell } from '../lib/engine/host/shell.ts';
import type { Step } from '../lib/engine/host/step.ts';
import { aMount } from '../lib/engine/host/testing/disk-facts.ts';
import type { Resource, Verdict } from '../lib/engine/resource/resource.ts';
import type { Role } from '../lib/engine/resource/role.ts';
import { fakeHost, stoppedUnit } from '../lib/engine/resource/testing/fake-host.ts';
import { applyDrift, type TestHost } from '../lib/engine/resource/testing/test-host.ts';
import { contextOf } from '../lib/node/testing/role-context.ts';
import type { Variables } from '../lib/node/variables/variables.ts';

/** A host with a Docker engine and nothing else, and everything that is sent to it to change it. */
function recordingHost(): { readonly host: TestHost; readonly sent: unknown[] } {
  const sent: unknown[] = [];
  const host = fakeHost([[/^command -v dpkg-query/, '']], {
    unit: async (name) => ({ ...stoppedUnit, active: name === 'docker.service' ? 'active' : 'inactive' }),
    run: shell(async (command, { stdin, timeoutSeconds, allow }) => {
      sent.push({ do: 'run', command, stdin, timeoutSeconds, allow });
      return new Output(0, Buffer.alloc(0), '');
    }),
    place: (step) => sent.push(bytesOf(step)),
  });
  return { host, sent };
}

const notOn: Readonly<Record<'database' | 'rpc', readonly string[]>> = {
  database: ['json-rpc', 'verify', 'database-reachable', 'removed'],
  rpc: ['state-db', 'snapshot', 'sync'],
};
const roleNames = readdirSync(new URL('../roles', import.meta.url))
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => name.slice(0, -'.ts'.length));

const mounts = [aMount('/', { source: '/dev/vda1', size: 9e11 })];

/** New resources of every role, on a database host and an RPC server. */
async function resourcesOfAllRoles(): Promise<Resource[]> {
  const all: Resource[] = [];
  for (const group of ['database', 'rpc'] as const) {
    const context = await contextOf({ group, facts: { mounts } });
    for (const name of roleNames.filter((each) => !notOn[group].includes(each))) {
      const role: Role<Variables> = (await import(`../roles/${name}.ts`)).default;
      all.push(...(await role.resources(context)));
    }
  }
  return all;
}

const checked = (resource: Resource): Promise<Verdict | string> =>
  resource.check(recordingHost().host).catch((error: Error) => error.message);

/** Everything that a change sends, and how it ended. */
async function changed(resource: Resource): Promise<unknown[]> {
  const { host, sent } = recordingHost();
  const ended = await applyDrift(host, resource).catch((error: Error) => error.message);
  return [...sent, ended];
}

/** What a step sends to a host. */
function bytesOf(step: Step): unknown {
  if (step.do === 'run') {
    const { command, stdin, timeoutSeconds, allow } = step;
    return { do: 'run', command, stdin, timeoutSeconds, allow };
  }
  if (step.do !== 'write') return step;
  const { path, content, attributes } = step;
  return { do: 'write', path, content, attributes };
}

test('two previews of every resource change nothing of what the change sends, and that is the steps of the plan', async () => {
  const previewed = await resourcesOfAllRoles();
  const untouched = await resourcesOfAllRoles();
  let planned = 0;
  for (const [at, resource] of previewed.entries()) {
    const other = untouched[at];
    if (!other) throw new Error('the roles made fewer resources');
    const first = await checked(resource);
    expect(await checked(resource), resource.name).toEqual(first);
    const sent = await changed(resource);
    expect(sent, resource.name).toEqual(await changed(other));
    if (typeof first === 'string' || first.is !== 'drift' || !Array.isArray(first.change)) continue;
    expect(sent.slice(0, first.change.length), resource.name).toEqual(first.change.map(bytesOf));
    if (!resource.work) expect(sent.slice(first.change.length), resource.name).toEqual([undefined]);
    planned += 1;
  }
  expect(planned).toBeGreaterThan(30);
});
