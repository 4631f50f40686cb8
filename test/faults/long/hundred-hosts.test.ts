import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCode } from '../../../lib/engine/problem/problem.ts';
import { mapWithForks } from '../../../lib/engine/run/limit.ts';
import { freePort } from '../../ssh/sshd.ts';
import {
  installForLightHosts,
  type LightHost,
  type LightHostOptions,
  startLightHost,
} from '../light-host.ts';
import { measured } from '../measured.ts';
import { type LightRun, type Member, runLight } from '../run-light.ts';

const isWorking = /^sleep 6\.5$/;
const working = { vars: { work_seconds: 6.5 } };

/** A fault of a host, and its expected message. */
interface Fault {
  readonly name: string;
  readonly options?: LightHostOptions;
  readonly inventory?: Readonly<Record<string, unknown>>;
  /** Injected during the run. */
  happens?(host: LightHost): Promise<void>;
  readonly cause: RegExp;
}

const faults: readonly Fault[] = [
  { name: 'refuses-the-connection', inventory: { port: 23 }, cause: /refused the connection/ },
  {
    name: 'accepts-and-says-nothing',
    inventory: { address: '127.0.0.1' },
    cause: /no answer from .* within 5 s/,
  },
  { name: 'has-another-host-key', inventory: {}, cause: /HOST KEY .* HAS CHANGED/ },
  {
    name: 'has-no-login-shell',
    options: { setUp: 'usermod -s /usr/sbin/nologin root' },
    cause: /the login shell did not run a command/,
  },
  {
    name: 'has-a-shell-that-hangs',
    options: { setUp: 'usermod -s /bin/bash root; echo sleep 1000 >/root/.bashrc' },
    cause: /the login shell did not begin a command within 5 s/,
  },
  {
    name: 'refuses-sudo',
    options: { setUp: 'useradd -m -p "*" op' },
    inventory: { user: 'op' },
    cause: /sudo wants a password of op|op may not become root/,
  },
  {
    name: 'has-a-full-disk',
    options: { size: '8m', setUp: 'cat /dev/zero >/filler || :' },
    cause: /No space left on device/,
  },
  {
    name: 'is-read-only',
    options: { setUp: 'umount /run; mkdir -p /run/sshd; mount -o remount,ro /' },
    cause: /its lock cannot be taken: .*Read-only file system/,
  },
  {
    name: 'drops-the-connection',
    inventory: working,
    async happens(host) {
      await host.untilRuns(isWorking);
      host.killSessions();
    },
    cause: /the connection was lost/,
  },
  {
    name: 'dies-in-apply',
    inventory: working,
    async happens(host) {
      await host.untilRuns(isWorking);
      host.die();
    },
    cause: /the connection was lost/,
  },
];

const healthy: LightHost[] = [];
const faulty = new Map<string, LightHost>();
const runs: Record<number, LightRun> = {};

beforeAll(async () => {
  installForLightHosts();
  await mapWithForks(faults, 4, async ({ name, options }) => {
    faulty.set(name, await startLightHost(name, options));
  });
  const names = Array.from({ length: 100 - faults.length }, (_, at) => `host-${at + 1}`);
  await mapWithForks(names, 4, async (name) => {
    healthy.push(await startLightHost(name));
  });
});

afterAll(async () => {
  for (const host of [...faulty.values(), ...healthy]) await host.stop();
});

/** One run on all hundred, with all faults. */
async function runOnAll(): Promise<LightRun> {
  const mute = createServer();
  const port = await freePort();
  mute.listen(port, '127.0.0.1');
  const otherKey = { host_key: healthy[0]?.hostKey };
  const wrong = faults.map(({ name, inventory }): Member => {
    const host = faulty.get(name) as LightHost;
    if (name === 'accepts-and-says-nothing') return { host, inventory: { ...inventory, port } };
    return { host, inventory: name === 'has-another-host-key' ? otherKey : (inventory ?? {}) };
  });
  // Spread among the others.
  const members = healthy.map((host): Member => ({ host }));
  for (const [at, member] of wrong.entries()) members.splice(at * 9, 0, member);
  const running = runLight(members, '--timeout', '5');
  await Promise.all(faults.map((fault) => fault.happens?.(faulty.get(fault.name) as LightHost)));
  const run = await running;
  mute.close();
  return run;
}

const megabytes = (hosts: number) => Math.round(runs[hosts]?.peak ?? Number.NaN);

describe('A hundred hosts', () => {
  test('one host, and ten: all converge', async () => {
    for (const count of [1, 10]) {
      const run = await runLight(healthy.slice(0, count).map((host) => ({ host })));
      runs[count] = run;
      expect(run.exitCode, run.stderr).toBe(exitCode.converged);
      for (const host of healthy.slice(0, count)) host.run('rm -r /etc/light; echo one >/etc/list');
    }
  });

  test('a hundred hosts, ten of them faulty: ninety finish', async () => {
    const run = await runOnAll();
    runs[100] = run;
    expect(run.exitCode, run.stderr).toBe(exitCode.failed);
    const finished = Object.values(run.summary).filter(
      ({ counts, stopped }) => counts.changed === 5 && !stopped,
    );
    expect(finished.map(({ host }) => host).sort()).toEqual(healthy.map(({ name }) => name).sort());
  });

  test.each(faults.map(({ name, cause }) => [name.replaceAll('-', ' '), name, cause] as const))(
    'a host that %s: reported with its cause',
    (_, name, cause) => {
      const run = runs[100];
      expect(`${run?.errorsOf(name)}\n${run?.summary[name]?.stopped}`).toMatch(cause);
    },
  );

  test('controller memory stays flat', ({ task }) => {
    const peaks = [1, 10, 100].map((count) => `${megabytes(count)} MB for ${count}`).join(', ');
    measured(task, `${peaks}; ${runs[100]?.seconds.toFixed(0)} s for a hundred`);
    expect(megabytes(100) - megabytes(1)).toBeLessThan(100);
  });
});
