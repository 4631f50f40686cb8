import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Reader } from '../host/host.ts';
import { command, type Step } from '../host/step.ts';
import { scriptOf } from '../host/step-script.ts';
import {
  connectLocally,
  processesWith,
  standInFor,
  temporaryDirectory,
} from '../host/testing/local-connection.ts';
import { secretContent, sha256Of } from '../resource/file/content.ts';
import { directory } from '../resource/file/directory.ts';
import { file } from '../resource/file/file.ts';
import { jsonFile } from '../resource/file/json-file.ts';
import { line } from '../resource/file/line.ts';
import { link } from '../resource/file/link.ts';
import { drift, expectation, ok, type Resource, task } from '../resource/resource.ts';
import { service } from '../resource/system/service.ts';
import { Secret } from '../secret/secret.ts';
import type { RunEvent } from './events.ts';
import type { RunOptions } from './run-options.ts';
import { recordedRun } from './testing/recorded-run.ts';
import { plannedStep, sentSteps } from './testing/sent-steps.ts';

/** Runs resources on this machine, by a connection that records all that is sent. */
async function runHere(
  resources: readonly Resource[],
  options: Partial<RunOptions> = {},
  onEvent?: (event: RunEvent) => void,
) {
  return recordedRun(await connectLocally(), resources, options, onEvent);
}

/** A file that exists once its steps are made. */
const made = (path: string, ...steps: Step[]): Resource =>
  task(path, { check: async (host) => ((await host.stat(path)) ? ok : drift('it is missing', steps)) });
const touch = (path: string) => made(path, command`touch ${path}`);

test('what is sent is the steps of the plan, byte by byte, and secrets only on standard input', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  writeFileSync(at('list'), 'one\n');
  const password = new Secret('swordfish-together');
  const resources = () => [
    directory(at('in')).mode(0o750),
    file(at('in/plain')).content("it's $HOME\n\\"),
    file(at('in/binary')).content(Buffer.from([0, 255, 10, 13])),
    file(at('in/secret')).content(secretContent(`Password = "${password.reveal()}"\n`, /Password/)),
    line(at('list'), 'two'),
    made(at('typed'), command({ stdin: password })`cat >${at('typed')}`),
  ];
  const plan = await runHere(resources(), { check: true });
  const steps = plan.result.plans[0]?.tasks.map((planned) => planned.steps ?? []) ?? [];
  expect(steps.map((each) => each.length)).toEqual([1, 1, 1, 1, 1, 1]);
  expect(readdirSync(root)).toEqual(['list']);

  const { sent, outcomes } = await runHere(resources());
  expect(outcomes.map((each) => each.replace(/.* /, ''))).toEqual(Array(6).fill('changed'));
  // The checks, the changes.
  expect(sent).toHaveLength(2);
  expect(sentSteps(sent)).toEqual(steps.map((each) => each.map(plannedStep)));
  const secrets = steps
    .flat()
    .flatMap((step) => (scriptOf(step).isSecret ? [scriptOf(step).stdin?.toString('base64')] : []));
  expect(sent[1]?.stdin.trim().split('\n')).toEqual(secrets);
  expect(sent[1]?.script).not.toContain('swordfish');
  expect(sent[1]?.script).not.toContain(Buffer.from(password.reveal()).toString('base64'));

  expect(readFileSync(at('in/plain'), 'utf8')).toBe("it's $HOME\n\\");
  expect([...readFileSync(at('in/binary'))]).toEqual([0, 255, 10, 13]);
  expect(readFileSync(at('in/secret'), 'utf8')).toBe('Password = "swordfish-together"\n');
  expect(readFileSync(at('typed'), 'utf8')).toBe('swordfish-together');
  expect(readFileSync(at('list'), 'utf8')).toBe('one\ntwo\n');
});

test('a change that is asked about, a large one, one of every host and the steps before work are made by the same script', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  const large = 'x'.repeat(70_000);
  const resources = (): Resource[] => [
    file(at('plain')).content(large),
    file(at('secret')).content(secretContent(`Password = "${large}"\n`, /Password/)),
    { ...touch(at('single')), everyHost: { name: 'true', check: async () => ok, hint: '' } },
    {
      ...made(at('worked'), command`touch ${at('started')}`),
      work: async (host) => void (await host.run`touch ${at('worked')}`),
    },
  ];
  const plan = await runHere(resources(), { check: true });
  const steps = plan.result.plans[0]?.tasks.map((planned) => planned.steps ?? []) ?? [];
  for (const confirmEach of [undefined, async () => 'change' as const]) {
    const { sent, outcomes } = await runHere(resources(), { confirmEach });
    expect(outcomes.map((each) => each.replace(/.* /, ''))).toEqual(Array(4).fill('changed'));
    expect(sentSteps(sent)).toEqual(steps.map((each) => each.map(plannedStep)));
    expect(readFileSync(at('secret'), 'utf8')).toBe(`Password = "${large}"\n`);
    for (const name of ['plain', 'secret', 'single', 'worked', 'started']) rmSync(at(name));
  }
});

test('Ctrl-C keeps a change from being made that goes by itself', async () => {
  const path = join(temporaryDirectory(), 'a');
  const controller = new AbortController();
  const { outcomes, result } = await runHere([touch(path)], {
    interrupt: controller.signal,
    confirmEach: async () => {
      controller.abort();
      return 'change';
    },
  });
  expect([outcomes, existsSync(path)]).toEqual([[], false]);
  expect(result.hosts[0]).toMatchObject({ stopped: 'interrupted', left: 1 });
});

test('the first failure stops the script, with its step, its output and its own result', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  const fails = made(
    at('b'),
    command`touch ${at('half')}`,
    command`echo 'no room' >&2; exit 7`,
    command`touch ${at('b')}`,
  );
  const { done, outcomes, result } = await runHere([touch(at('a')), fails, touch(at('c'))]);
  expect(outcomes).toEqual([`${at('a')} changed`, `${at('b')} failed`]);
  expect(String(done[1]?.error)).toBe(
    `CommandFailed: command exited with 7: echo 'no room' >&2; exit 7\nno room`,
  );
  expect(readdirSync(root).sort()).toEqual(['a', 'half']);
  expect(result.hosts[0]).toMatchObject({ stopped: `${at('b')} failed`, left: 1, next: at('c') });
});

test('no change is made on a check that an earlier change has made out of date', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  const [first, second, third] = ['first', 'second', 'third'].map(at) as [string, string, string];
  /** Makes its file in words that depend on whether `first` was there at the check. */
  const depends = (path: string): Resource =>
    task(path, {
      check: async (host) => {
        const [own, other] = await Promise.all([host.stat(path), host.stat(first)]);
        return own ? ok : drift('it is missing', [command`echo ${other ? 'after' : 'before'} >>${path}`]);
      },
    });
  // The middle one was ok, and is not any more after the first change.
  const broken = at('broken');
  const middle: Resource = task('middle', {
    check: async (host) => {
      const [there, isFixed] = await Promise.all([host.stat(first), host.stat(broken)]);
      return there && !isFixed ? drift('first is there', [command`touch ${broken}`]) : ok;
    },
  });
  const { outcomes, sent } = await runHere([
    touch(first),
    depends(second),
    touch(at('x')),
    middle,
    depends(third),
  ]);
  expect(outcomes).toEqual([
    `${first} changed`,
    `${second} changed`,
    `${at('x')} changed`,
    'middle changed',
    `${third} changed`,
  ]);
  expect([second, third].map((path) => readFileSync(path, 'utf8'))).toEqual(['after\n', 'after\n']);
  expect(sent.length).toBeLessThanOrEqual(4);
});

/** What a check looks at, by a path of the test's folder. */
const looks = {
  content: (path: string) => (host: Reader) => host.read(path),
  hash: (path: string) => (host: Reader) => host.sha256(path),
  code: (path: string) => (host: Reader) => host.$`test -e ${path}`,
  words: (path: string) => (host: Reader) => host.$`if [ -e ${path} ]; then echo it is there >&2; fi`,
  input: (path: string) => (host: Reader) => host.$({ stdin: 'password' })`cat ${path}`,
};

test.each<[what: string, look: keyof typeof looks, name: string, change: string, checks?: number]>([
  [
    'a file with the same size and time',
    'content',
    'file',
    'touch -r file ref; printf b >file; touch -r ref file',
  ],
  ['a file that is gone', 'content', 'file', 'rm file'],
  [
    'a file that is another, with the same content',
    'content',
    'file',
    'cp -p file new; mv new file; ln file hard',
  ],
  ['a file, with a password', 'input', 'file', 'printf b >file'],
  ['whether a file exists', 'code', 'flag', 'touch flag'],
  ['what a command says of its failure', 'words', 'flag', 'touch flag'],
  ['the target of a link', 'content', 'link', 'printf c >target'],
  ['the target of a link, which is gone', 'hash', 'link', 'rm target'],
  ['the target of a link, which is a loop', 'content', 'link', 'rm target; ln -s link target'],
  ['a link', 'content', 'link', 'ln -sfT file link'],
  ['a link to a value of the kernel', 'content', 'score', 'echo 7 >score'],
  ['a value of the kernel', 'content', 'process/oom_score_adj', 'echo 7 >score'],
  ['a file, beside another that is changed', 'content', 'file', ': >other', 1],
])('a check that read %s is made again after a change of it', async (_, look, name, change, expected = 2) => {
  const root = temporaryDirectory();
  const at = (path: string) => join(root, path);
  for (const path of ['file', 'target']) writeFileSync(at(path), 'a');
  symlinkSync(at('target'), at('link'));
  const running = spawn('sleep', ['60']);
  onTestFinished(() => void running.kill());
  symlinkSync(`/proc/${running.pid}`, at('process'));
  symlinkSync(`/proc/${running.pid}/oom_score_adj`, at('score'));
  let checks = 0;
  const reads: Resource = task('reads', {
    check: async (host) => {
      const [done] = await Promise.all([host.stat(at('done')), looks[look](at(name))(host)]);
      if (!done) checks += 1;
      return done ? ok : drift('it is missing', [command`touch ${at('done')}`]);
    },
  });
  const first = made(at('first'), command`cd ${root} && sh -c ${change}; touch first`);
  const unrelated = made(at('unrelated'), command`touch ${at('unrelated')}`);
  const { outcomes } = await runHere([unrelated, first, reads]);
  expect(outcomes.map((each) => each.replace(/.* /, ''))).toEqual(['changed', 'changed', 'changed']);
  expect(checks).toBe(expected);
});

test('a host whose stat fails gets each change after a check of its own', async () => {
  const root = temporaryDirectory();
  const list = join(root, 'list');
  writeFileSync(list, 'a');
  // As before a change; other reads need it.
  standInFor('stat', `case $2 in '%n|'*) exit 127 ;; esac; exec /usr/bin/stat "$@"`);
  const copy = task('copy', {
    check: async (host) => {
      const [text, done] = await Promise.all([host.read(list), host.read(join(root, 'copy'))]);
      return done ? ok : drift('it is missing', [command`printf %s ${String(text)} >${join(root, 'copy')}`]);
    },
  });
  const other = task('other', {
    check: async (host) =>
      (await host.read(list))?.toString() === 'b' ? ok : drift('it differs', [command`printf b >${list}`]),
  });
  const { outcomes } = await runHere([other, copy]);
  expect(outcomes).toEqual(['other changed', 'copy changed']);
  expect(readFileSync(join(root, 'copy'), 'utf8')).toBe('b');
});

test('a link that leads to a pipe delays no change', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  symlinkSync('/dev/stdout', at('log'));
  const { outcomes } = await runHere([touch(at('a')), link(at('log'), '/dev/stdout'), touch(at('b'))]);
  expect(outcomes.map((each) => each.replace(/.* /, ''))).toEqual(['changed', 'ok', 'changed']);
});

test('Ctrl-C while the facts of a change are looked at keeps it from being made', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  const controller = new AbortController();
  const slow: Resource = {
    ...touch(at('b')),
    async check(host) {
      await host.$`if [ -e ${at('a')} ]; then touch ${at('looked at')}; sleep 2; fi`;
      return touch(at('b')).check(host);
    },
  };
  const watch = setInterval(() => existsSync(at('looked at')) && controller.abort(), 20);
  onTestFinished(() => clearInterval(watch));
  const { outcomes } = await runHere([touch(at('a')), slow], { interrupt: controller.signal });
  expect(outcomes).toEqual([`${at('a')} changed`]);
  expect(existsSync(at('b'))).toBe(false);
});

test('a process that a check leaves running delays no change', async () => {
  const root = temporaryDirectory();
  const mark = `3600.${Date.now() % 1_000_000}`;
  const leaves = (path: string): Resource => ({
    ...touch(path),
    async check(host) {
      await host.$`sleep ${mark} &`;
      return touch(path).check(host);
    },
  });
  const { outcomes } = await runHere([touch(join(root, 'a')), leaves(join(root, 'b'))]);
  expect(outcomes.map((each) => each.replace(/.* /, ''))).toEqual(['changed', 'changed']);
  spawnSync('pkill', ['-f', `sleep ${mark}`]);
});

test('several rewrites of one file are planned with the content before each, and made in one request', async () => {
  const list = join(temporaryDirectory(), 'list');
  writeFileSync(list, 'one\n');
  const resources = () => ['two', 'three', 'four'].map((text) => line(list, text));
  const plan = await runHere(resources(), { check: true });
  const contents = ['one\n', 'one\ntwo\n', 'one\ntwo\nthree\n', 'one\ntwo\nthree\nfour\n'];
  const steps = [1, 2, 3].map((at) => ({
    do: 'rewrite',
    path: list,
    was: sha256Of(contents[at - 1] ?? ''),
    content: contents[at],
  }));
  expect(plan.result.plans[0]?.tasks.map((planned) => planned.steps)).toEqual(steps.map((step) => [step]));
  expect(plan.done.map(({ differences }) => differences[0]?.was)).toEqual(contents.slice(0, 3));

  const { outcomes, sent } = await runHere(resources());
  expect(outcomes.map((each) => each.replace(/.* /, ''))).toEqual(['changed', 'changed', 'changed']);
  expect(sent).toHaveLength(2);
  expect(readFileSync(list, 'utf8')).toBe(contents[3]);
});

test('the keys of several tasks in a file that is not there are planned as they are written', async () => {
  const settings = join(temporaryDirectory(), 'daemon.json');
  const resources = () => [jsonFile(settings, { a: 1 }), jsonFile(settings, { b: 2 })];
  const plan = await runHere(resources(), { check: true });
  const contents = ['{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "b": 2\n}\n'];
  const planned = plan.result.plans[0]?.tasks.map((each) => each.steps ?? []) ?? [];
  expect(planned).toEqual([
    [expect.objectContaining({ do: 'write', path: settings, content: contents[0] })],
    [{ do: 'rewrite', path: settings, was: sha256Of(contents[0] ?? ''), content: contents[1] }],
  ]);
  expect(plan.done[1]?.differences).toEqual([{ what: 'content', was: contents[0], wanted: contents[1] }]);

  const { outcomes, sent } = await runHere(resources());
  expect(outcomes.map((each) => each.replace(/.* /, ''))).toEqual(['changed', 'changed']);
  expect(sentSteps(sent)).toEqual(planned.map((steps) => steps.map(plannedStep)));
  expect(readFileSync(settings, 'utf8')).toBe(contents[1]);
});

test('a rewrite after one that was skipped, or after a change of the file from outside, starts from what is there', async () => {
  const list = join(temporaryDirectory(), 'list');
  writeFileSync(list, 'one\n');
  const resources = ['two', 'three', 'four'].map((text) => line(list, text));
  const seen: string[] = [];
  const { outcomes } = await runHere(resources, {
    confirmEach: async ({ resource }, { differences }) => {
      seen.push(differences[0]?.was ?? '');
      if (resource.includes('two')) return 'skip';
      if (resource.includes('four')) writeFileSync(list, 'zero\none\nthree\n');
      return 'change';
    },
  });
  expect(outcomes.map((each) => each.replace(/.* /, ''))).toEqual(['skipped', 'changed', 'changed']);
  // The operator agrees to one change. Another one in its place is asked about again.
  expect(seen).toEqual(['one\n', 'one\n', 'one\nthree\n', 'zero\none\nthree\n']);
  expect(readFileSync(list, 'utf8')).toBe('zero\none\nthree\nfour\n');
});

test('new services wait for their unit files, in the plan too, and are started together by the next request', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  // Systemd, with the units whose files are in the folder.
  standInFor(
    'systemctl',
    `cd ${root} && for last; do :; done
case " $* " in
  *' show '*) for unit; do case $unit in *.service)
    load=not-found active=inactive enabled=
    [ ! -e "$unit" ] || load=loaded enabled=disabled
    [ ! -e "$unit.enabled" ] || enabled=enabled
    [ ! -e "$unit.started" ] || active=active
    printf 'Id=%s\nLoadState=%s\nActiveState=%s\nUnitFileState=%s\n\n' "$unit" "$load" "$active" "$enabled" ;;
  esac; done ;;
  *' enable '*) : >"$last.enabled" ;;
  *' start '*) : >"$last.started" ;;
  *' is-active '*) [ -e "$last.started" ] ;;
esac`,
  );
  const names = ['new-a', 'new-b', 'new-c'];
  const files = names.map((name) => file(at(`${name}.service`)).content(`[Service]\nExecStart=${name}\n`));
  const resources = [touch(at('first')), ...files, ...names.map((name) => service(name)), touch(at('last'))];
  const plan = await runHere(resources, { check: true });
  const outcomes = (done: readonly { outcome: string }[]) => done.map(({ outcome }) => outcome);
  expect(outcomes(plan.done)).toEqual([...Array(4).fill('pending'), ...Array(3).fill('unknown'), 'pending']);
  expect(plan.done[4]?.note).toBe('until new-a.service is installed');
  const { sent, done } = await runHere(resources);
  expect(outcomes(done)).toEqual(Array(8).fill('changed'));
  // The checks, the files, the services.
  expect(sent).toHaveLength(3);
});

test('a change that is made and not proved stops the host, and what was made after it is reported', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  const { done, outcomes } = await runHere([touch(at('a')), made(at('b'), command`true`), touch(at('c'))]);
  expect(outcomes).toEqual([`${at('a')} changed`, `${at('b')} failed`, `${at('c')} changed`]);
  expect(String(done[1]?.error)).toMatch(
    /applied but did not converge\n {2}before: it is missing\n {2}after: {2}it is/,
  );
});

test('a check that takes long has its time in the event: that of its own command, or of one for many checks', async () => {
  standInFor('systemctl', 'sleep 1.2');
  const slow = expectation('names are answered', {
    check: async (host) => ((await host.$`sleep 1.3`).ok ? ok : drift('no answer')),
  });
  const unit = (name: string) =>
    expectation(`${name} is away`, {
      check: async (host) => ((await host.unit(name)).active === 'active' ? drift('it is there') : ok),
    });
  const { done } = await runHere([slow, unit('a'), unit('b')]);
  const seconds = done.map((event) => event.seconds);
  expect(done.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok']);
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(1.1);
});

test('Ctrl-C stops between two changes of one script, and what was made is reported', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  const controller = new AbortController();
  const slow = made(at('b'), command`sleep 2; touch ${at('b')}`);
  const { outcomes, result } = await runHere(
    [touch(at('a')), slow, touch(at('c')), touch(at('d'))],
    { interrupt: controller.signal },
    (event) => {
      if (event.type === 'resource-started' && event.task.resource === at('b')) controller.abort();
    },
  );
  expect(outcomes).toEqual([`${at('a')} changed`, `${at('b')} changed`]);
  expect(readdirSync(root).sort()).toEqual(['a', 'b']);
  expect(result.hosts[0]).toMatchObject({ stopped: 'interrupted', left: 2, next: at('c') });
});

test('a time limit ends its step, and the script', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  const hangs = made(at('b'), command({ timeoutSeconds: 1 })`sleep 71.5; touch ${at('b')}`);
  const { done, outcomes } = await runHere([touch(at('a')), hangs, touch(at('c'))]);
  expect(outcomes).toEqual([`${at('a')} changed`, `${at('b')} failed`]);
  expect(String(done[1]?.error)).toContain('command took longer than its time limit: sleep 71.5');
  expect(processesWith('sleep 71.5')).toEqual([]);
  expect(existsSync(at('c'))).toBe(false);
});

test('a script that is killed between its steps leaves nothing half-written, and the next run goes on', async () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  mkdirSync(at('in'));
  const killed = at('killed');
  // Kills the whole script once: it is a process group of its own.
  const kill = `[ -e ${killed} ] || { touch ${killed}; kill -9 0; }`;
  const resources = () => [
    file(at('in/a')).content('a\n'.repeat(1000)),
    made(at('in/b'), command`sh -c ${kill}; touch ${at('in/b')}`),
    file(at('in/c')).content('c\n'.repeat(1000)),
  ];
  const first = await runHere(resources()).catch((error: Error) => error);
  expect(existsSync(killed)).toBe(true);
  if (!(first instanceof Error)) expect(first.outcomes).not.toContain(`file ${at('in/c')} changed`);
  await delay(300);
  expect(readdirSync(at('in')).filter((name) => !['a', 'b'].includes(name))).toEqual([]);
  expect(readFileSync(at('in/a'), 'utf8')).toBe('a\n'.repeat(1000));
  const second = await runHere(resources());
  expect(second.outcomes.filter((each) => each.endsWith('failed'))).toEqual([]);
  expect(readFileSync(at('in/c'), 'utf8')).toBe('c\n'.repeat(1000));
});
