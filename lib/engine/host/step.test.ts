import { expect, test } from 'vitest';
import { fakeHost } from '../resource/testing/fake-host.ts';
import { makeSteps } from '../resource/testing/test-host.ts';
import { thisMachine } from '../resource/testing/this-machine.ts';
import { Secret } from '../secret/secret.ts';
import { command, describeStep, makeDirectory, type Step, write } from './step.ts';

test('steps are shown with secrets masked', () => {
  const password = new Secret('correct-horse-battery');
  const attributes = { mode: 0o600, owner: 'root', group: 'root' };
  const steps: readonly Step[] = [
    command`mkdir -p ${'/srv/a b'}`,
    write('/srv/f', 'text', { mode: 0o600 }),
    { do: 'write', path: '/srv/g', content: 'text', secret: true, attributes },
    { do: 'rewrite', path: '/etc/hosts', was: 'aa', content: 'a\nb\n' },
    makeDirectory('/srv/d', { mode: 0o750, group: 'operators' }),
    { do: 'link', path: '/srv/l', target: 'd' },
    command({ stdin: password })`psql --command ${'ALTER ROLE x'}`,
    command`echo ${password.reveal()}`,
  ];
  expect(steps.map(describeStep)).toEqual([
    "mkdir -p '/srv/a b'",
    'write /srv/f (4 bytes, mode 0600, root:root)',
    'write /srv/g (4 bytes, mode 0600, root:root)',
    'rewrite /etc/hosts (4 bytes)',
    'make directory /srv/d (mode 0750, root:operators)',
    'make link /srv/l -> d',
    "psql --command 'ALTER ROLE x' < [secret]",
    'echo [secret]',
  ]);
});

test('a command loses the indentation of the source, and no space of a word', () => {
  const text = '    kept\n      kept, too';
  expect(command`
    if true; then
      echo ${text}
    fi`).toEqual({ do: 'run', command: `if true; then\n  echo '${text}'\nfi` });
  expect(command({ timeoutSeconds: 5 })`a ${'b c'}`).toEqual({
    do: 'run',
    command: "a 'b c'",
    timeoutSeconds: 5,
  });
});

test('a step fails in its own words, and one on another text as outdated', async () => {
  const failure = { what: 'it did not start', hint: 'look at it' };
  const host = fakeHost([[/start/, { exitCode: 1, stderr: 'no memory\n' }]]);
  await expect(makeSteps(host, command({ failure })`start`)).rejects.toMatchObject({
    message: 'it did not start: no memory',
    hint: 'look at it',
  });
  await expect(makeSteps(host, command`start`)).rejects.toThrow('command exited with 1: start\nno memory');
  const script = "#!/bin/sh\nset -eu\necho 'a start'";
  await expect(makeSteps(host, command`sh -c ${script} retire /data/state-db`)).rejects.toThrow(
    /^command exited with 1: sh -c '…' retire \/data\/state-db\nno memory$/,
  );
  const { makeChanges } = await thisMachine();
  const { ended } = makeChanges([{ steps: [{ do: 'rewrite', path: '/f', was: 'aa', content: '' }] }]);
  expect(await ended).toEqual({ made: 0, outdated: '/f was changed by another program' });
});
