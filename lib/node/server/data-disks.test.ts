import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readProgram } from '../../engine/host/script.ts';
import { aMount } from '../../engine/host/testing/disk-facts.ts';
import { onFullDisk } from '../../engine/host/testing/full-disk.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { describeUnmet } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { dataIsInItsPlace, dockerWaitsForData } from './data-disks.ts';

const fstab = [{ source: 'UUID=1-2', target: '/data', type: 'ext4', options: ['defaults'] }];

test.each([
  [
    'what the host remembers',
    {},
    'UUID 1-2 is not mounted\nmount it again: mount /data.\n',
    'UUID 1-2 is not mounted\nmount it again: mount /data.',
  ],
  [
    'what fstab has',
    { facts: { fstab } },
    '',
    '/etc/fstab mounts UUID=1-2 at /data, and it is not mounted\n' +
      'mount it: mount /data. If this disk is gone for good, take its line out of /etc/fstab',
  ],
])('a missing disk is reported with what to do, by %s', async (_, given, printed, words) => {
  const resource = dataIsInItsPlace(await contextOf(given));
  expect(describeUnmet(resource, await resource.check(fakeHost([[/ data-disks problems/, printed]])))).toBe(
    words,
  );
});

test('a run that ended before systemd has read how Docker waits is completed by the next one', async () => {
  const host = fakeHost([[/ data-disks seen/, 'same\n']], {
    stat: async (path) =>
      path.endsWith('/.') ? { ...rootsFile, type: 'directory', mode: 0o755 } : rootsFile,
    compare: async () => ({ same: true }),
    unit: async (name) => ({ ...stoppedUnit, needsReload: name === 'docker.service' }),
  });
  const context = await contextOf({ facts: { mounts: [aMount('/')] } });
  const verdicts = await Promise.all(dockerWaitsForData(context).map((each) => each.check(host)));
  expect(verdicts).toContainEqual(
    expect.objectContaining({ change: [expect.objectContaining({ command: 'systemctl daemon-reload' })] }),
  );
});

const remembered = 'state-db /nowhere/state-db 1-2 /state-db /dev/sdz1 /nowhere ext4\n';
const dataDisks = readProgram(
  ...['docker-root', 'data-disks'].map(
    (name) => new URL(`../../../templates/host/${name}.sh`, import.meta.url),
  ),
);

/**
 * Runs the program of a host whose disk is away.
 *
 * @param unit what systemctl answers, by its last property or verb, of docker.service
 * @returns the commands that change units, in order
 */
function changedUnits(verb: string, unit: Readonly<Record<string, string>>) {
  const folder = temporaryDirectory();
  const stub = (name: string, script: string) => {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  };
  const answers = Object.entries(unit).map(([word, text]) => `*" ${word} "*) ${text} ;;`);
  // systemd ends the guard with the start that it is a part of.
  const log = join(folder, 'changed');
  const stop = `echo "systemctl $*" >>${log}; kill $PPID`;
  const asked = `case " $* " in ${answers.join(' ')} *" stop "*) ${stop} ;; *) exit 1 ;; esac`;
  stub('systemctl', asked);
  stub('systemd-run', `echo "systemd-run $*" >>${log}`);
  writeFileSync(join(folder, 'memory'), remembered);
  const program = dataDisks
    .replace(/^PATH=/m, `PATH=${folder}:`)
    .replace(/^waits=.*$/m, `waits=${folder}/waits`);
  const env = { ...process.env, DATA_DISKS_MEMORY: join(folder, 'memory') };
  const { status } = spawnSync('sh', ['-c', program, 'data-disks', verb], { env });
  const changed = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  return { status, changed, waits: existsSync(join(folder, 'waits')) };
}

const held = [
  'systemctl stop --no-block docker.socket docker.service',
  expect.stringMatching(/^systemd-run .* wait$/),
];

test('on a full disk it forgets no data', () => {
  const folder = temporaryDirectory();
  const memory = join(folder, 'memory');
  const run = (shell: readonly string[], ...words: readonly string[]) =>
    spawnSync('sh', [...shell, '-c', dataDisks, 'data-disks', ...words], {
      env: { ...process.env, DATA_DISKS_MEMORY: memory },
    }).status;
  writeFileSync(memory, remembered);
  const full = [...onFullDisk, 'sh'];
  for (const words of [
    ['remember', 'pool-db', folder],
    ['forget', 'pool-db'],
  ])
    expect(run(full, ...words), words[0]).not.toBe(0);
  expect(readFileSync(memory, 'utf8')).toBe(remembered);
  expect(run([], 'remember', 'pool-db', folder)).toBe(0);
  expect(readFileSync(memory, 'utf8')).toMatch(new RegExp(`^${remembered}pool-db ${folder} `));
  expect([run([], 'forget', 'pool-db'), readFileSync(memory, 'utf8')]).toEqual([0, remembered]);
});

test('a start without its disk is held: no client waits at the socket of Docker, and a unit waits for the disk', () => {
  const starting = changedUnits('guard', { SubState: 'echo start-pre' });
  expect(starting).toEqual({ status: 1, changed: held, waits: true });
  const asked = changedUnits('guard', { SubState: 'echo dead' });
  expect(asked).toEqual({ status: 1, changed: [], waits: false });
});

test('a start that waits for a mount is held, too; one that somebody has stopped stays so', () => {
  const never = { ActiveEnterTimestampMonotonic: 'echo 0', 'is-enabled': 'exit 0' };
  expect(changedUnits('watch', never)).toEqual({ status: 0, changed: held, waits: true });
  const stopped = { ...never, ActiveEnterTimestampMonotonic: 'echo 81726' };
  expect(changedUnits('watch', stopped)).toEqual({ status: 0, changed: [], waits: false });
});
