import { expect, test } from 'vitest';
import type { Step } from '../host/step.ts';
import { Problem } from '../problem/problem.ts';
import { newText } from '../resource/file/edited-text.ts';
import {
  changesOfFile,
  checkedAgainAfter,
  containerChange,
  drift,
  expectation,
  fileChange,
  ok,
  type Resource,
  undecided,
  unknownUntil,
  type Verdict,
} from '../resource/resource.ts';
import { fakeHost } from '../resource/testing/fake-host.ts';
import { sessionOf } from '../resource/testing/test-host.ts';
import { HostRun } from './host-run.ts';
import { changesSomething, planOf } from './plan.ts';

const session = sessionOf(fakeHost([]));

async function planned(resources: readonly Resource[]) {
  const host = new HostRun('h', session, () => {});
  host.taskRuns = resources.map((resource) => ({
    task: { host: 'h', play: 'p', role: 'r', resource: resource.name },
    resource,
    seen: undefined,
    seenIn: -1,
    reads: new Set(),
  }));
  await host.check(host.taskRuns);
  return planOf(host, async () => ({ refused: undefined, until: undefined, note: undefined }));
}

const outcomes = async (...resources: Resource[]) =>
  (await planned(resources)).map(
    ({ task, outcome, note }) => `${task.resource}: ${outcome}${note ? ` (${note})` : ''}`,
  );

const resource = (name: string, verdict: Verdict, more: Partial<Resource> = {}): Resource => ({
  name,
  check: async () => verdict,
  ...more,
});
const content = drift([{ what: 'content', was: 'a', wanted: 'b' }]);
const file = (verdict: Verdict) => resource('file /c', verdict, { changes: changesOfFile('/c') });
const container = resource('container', ok, {
  changes: () => [containerChange('node')],
  follows: [{ what: fileChange('/c'), effect: 'is restarted', certain: true }],
});
const listens = checkedAgainAfter(expectation('node listens', { check: async () => ok }), 'node');

test('a change leads to changes of its dependents, and of theirs', async () => {
  expect(await outcomes(file(content), container, listens)).toEqual([
    'file /c: pending',
    'container: pending (is restarted after file /c)',
    'node listens: unknown (is checked again after container node)',
  ]);
});

test('no dependent changes without a change, or after a change of mode only', async () => {
  expect(await outcomes(file(ok), container, listens)).toEqual([
    'file /c: ok',
    'container: ok',
    'node listens: ok',
  ]);
  const mode = drift([{ what: 'mode', was: '0644', wanted: '0600' }]);
  expect(await outcomes(file(mode), container)).toEqual(['file /c: pending', 'container: ok']);
});

test('possible changes are reported as possible, and so are their dependents', async () => {
  const maybe = resource('maybe', ok, {
    changes: () => [containerChange('node')],
    follows: [{ what: fileChange('/c'), effect: 'restarts', certain: false }],
  });
  const after = resource('after', ok, {
    follows: [{ what: containerChange('node'), effect: 'is restarted', certain: true }],
  });
  expect(await outcomes(file(content), maybe, after)).toEqual([
    'file /c: pending',
    'maybe: unknown (restarts after file /c, maybe)',
    'after: unknown (is restarted after container node, maybe)',
  ]);
});

test('a checked state has priority over a predicted one', async () => {
  const drifting = { ...container, check: async () => content };
  const plan = await planned([file(content), drifting]);
  expect(plan[1]).toMatchObject({ outcome: 'pending', predicted: false, differences: [{ what: 'content' }] });
});

test('failed expectations and checks that cannot be made are reported as in a run', async () => {
  const broken = resource('broken', ok, { check: () => Promise.reject(new Error('cannot look')) });
  const must = expectation('memory', { check: async () => drift('2 GB') });
  const should = expectation('disk', { check: async () => drift('slow'), severity: 'should' });
  expect(await outcomes(broken, must, should, resource('later', unknownUntil('x is there')))).toEqual([
    'broken: failed',
    'memory: failed (2 GB)',
    'disk: warning (slow)',
    'later: unknown (until x is there)',
  ]);
});

test('an unmet expectation that an earlier change may meet is checked again in its turn', async () => {
  const unmet = { check: async () => drift('nobody listens') };
  const port = checkedAgainAfter(expectation('port', unmet), 'node');
  const waits: Resource = { ...expectation('waits', unmet), work: async () => {} };
  expect(await outcomes(file(content), container, port, waits, expectation('memory', unmet))).toEqual([
    'file /c: pending',
    'container: pending (is restarted after file /c)',
    'port: unknown (is checked again after container node; now: nobody listens)',
    'waits: unknown (is checked again after container; now: nobody listens)',
    'memory: failed (nobody listens)',
  ]);
  expect(await outcomes(file(ok), container, port, waits)).toEqual([
    'file /c: ok',
    'container: ok',
    'port: failed (nobody listens)',
    'waits: failed (nobody listens)',
  ]);
});

test('what one look cannot judge is a warning, and a run waits for it', async () => {
  const grows: Resource = {
    ...expectation('grows', { check: async () => undecided('it takes two checks') }),
    work: async () => {},
  };
  expect(await outcomes(grows)).toEqual(['grows: warning (it takes two checks)']);
  expect(await outcomes(file(content), grows)).toEqual([
    'file /c: pending',
    'grows: unknown (is checked again after file /c; now: it takes two checks)',
  ]);
});

test('a plan changes something if a task is pending or depends on a pending one', async () => {
  const something = async (...resources: Resource[]) =>
    changesSomething({ host: 'h', tasks: await planned(resources) });
  expect(await something(file(ok))).toBe(false);
  expect(await something(expectation('memory', { check: async () => drift('2 GB') }))).toBe(false);
  expect(await something(file(content))).toBe(true);
  expect(await something(resource('later', unknownUntil('x')))).toBe(true);
});

test('a text that is merged into a file that an earlier change makes has no known steps', async () => {
  const step = newText('/c', 'one');
  const verdict = drift([{ what: 'content', was: '', wanted: 'one' }], [step]);
  const plan = await planned(
    ['one', 'two'].map((name) => resource(name, verdict, { changes: changesOfFile('/c') })),
  );
  expect(plan.map(({ steps }) => steps)).toEqual([[step], undefined]);
});

test('a text that an earlier change rewrites has no known steps, and a refusal none at all', async () => {
  const rewrite = (content: string): Step => ({ do: 'rewrite', path: '/c', was: 'aa', content });
  const line = (name: string) =>
    resource(name, drift([{ what: 'content', was: '', wanted: name }], [rewrite(name)]), {
      changes: changesOfFile('/c'),
    });
  const masked = resource('masked', drift('masked', new Problem('it is masked')));
  const plan = await planned([line('one'), line('two'), masked]);
  expect(plan.map(({ steps }) => steps)).toEqual([[rewrite('one')], undefined, []]);
});
