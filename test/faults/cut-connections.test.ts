import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { exitCode } from '../../lib/engine/problem/problem.ts';
import { freePort } from '../ssh/sshd.ts';
import { installForLightHosts, type LightHost, type LightHostOptions, startLightHost } from './light-host.ts';
import { measured } from './measured.ts';
import { type LightRun, type Member, runLight } from './run-light.ts';

const hosts: LightHost[] = [];

beforeAll(() => installForLightHosts());

afterAll(async () => {
  for (const host of hosts) await host.stop();
});

async function started(name: string, options: LightHostOptions = {}): Promise<LightHost> {
  const host = await startLightHost(name, options);
  hosts.push(host);
  return host;
}

/**
 * A connection without data for this time is dead. The slack is for a loaded machine: TCP itself
 * would take 15 minutes. Seconds.
 */
const keepaliveLimit = 60;
const slack = 120;

/** Long enough for each fault; each host recognizes its own by the digits after the point. */
const looking = { vars: { look_seconds: 4.25 } };
const working = { vars: { work_seconds: 6.5 } };
const isLooking = /^sleep 4\.25$/;
const isWorking = /^sleep 6\.5$/;

/** A run on a host with a fault, beside one without. */
async function runBesideAnother(
  { host, inventory = {} }: Member,
  happens: () => Promise<unknown>,
): Promise<LightRun> {
  const other = await started('other');
  const running = runLight([{ host, inventory }, { host: other }]);
  await happens();
  const run = await running;
  expect(run.errorsOf('other')).toBe('');
  expect(run.summary.other?.counts, run.stderr).toMatchObject({ changed: 5, failed: 0 });
  return run;
}

/** The same command once more does the rest; a third changes nothing. */
async function nextRunConverges(host: LightHost): Promise<void> {
  const next = await runLight([{ host }]);
  expect(next.errorsOf(host.name)).toBe('');
  expect(next.exitCode, next.stderr).toBe(exitCode.converged);
  expect(
    host.run('cat /etc/light/node/grüße.conf /etc/list /etc/light/after; ls -A /etc/light /etc/light/node'),
  ).toBe(
    'Gruß = "schön"\none\ntwo\nafter the work\n/etc/light:\nafter\ndone\nnode\nstarted\n\n/etc/light/node:\ngrüße.conf\n',
  );
  const check = await runLight([{ host }], '--check');
  expect(check.exitCode).toBe(exitCode.converged);
}

/** The host is named with the cause and what to do, as a failure of the task under way. */
function lost(run: LightRun, name: string, cause: RegExp): void {
  expect(run.errorsOf(name)).toMatch(cause);
  expect(run.errorsOf(name)).toMatch(/run again/);
  expect(run.summary[name]?.stopped).toBeDefined();
  expect(run.exitCode).toBe(exitCode.failed);
}

describe('Connection cut', () => {
  // These two wait for a minute, the others run meanwhile.
  test.concurrent('network down for longer than the keepalive limit: reported within it, next run converges', async ({
    task,
  }) => {
    const host = await started('away');
    let since = 0;
    const run = await runBesideAnother({ host, inventory: working }, async () => {
      await host.untilRuns(isWorking);
      host.cable('down');
      since = performance.now();
    });
    const noticed = (performance.now() - since) / 1000;
    expect(noticed).toBeLessThan(keepaliveLimit + slack);
    measured(task, `given up after ${noticed.toFixed(0)} s`);
    lost(run, 'away', /the connection was lost: .*[Kk]eepalive/);
    host.cable('up');
    await nextRunConverges(host);
  });

  test.concurrent('host gone without closing the connection during a check: reported within the keepalive limit, others go on', async () => {
    const host = await started('gone');
    let since = 0;
    const run = await runBesideAnother({ host, inventory: looking }, async () => {
      await host.untilRuns(isLooking);
      host.cable('down');
      since = performance.now();
    });
    expect((performance.now() - since) / 1000).toBeLessThan(keepaliveLimit + slack);
    lost(run, 'gone', /the connection was lost: .*[Kk]eepalive/);
  });

  test.concurrent('session killed during a check: reported, others go on, next run converges', async () => {
    const host = await started('checked');
    const run = await runBesideAnother({ host, inventory: looking }, async () => {
      await host.untilRuns(isLooking);
      host.killSessions();
    });
    lost(run, 'checked', /the connection was lost/);
    expect(host.run('ls -d /etc/light 2>/dev/null || echo nothing')).toBe('nothing\n');
    await nextRunConverges(host);
  });

  test.concurrent('session killed during a change: reported, others go on, next run converges', async () => {
    const host = await started('applied');
    const run = await runBesideAnother({ host, inventory: working }, async () => {
      await host.untilRuns(isWorking);
      host.killSessions();
    });
    lost(run, 'applied', /the connection was lost/);
    await nextRunConverges(host);
  });

  test.concurrent('session killed while a file is written: none of it is seen, next run converges', async () => {
    const host = await started('written', { setUp: 'mkdir /etc/light; echo old >/etc/light/large' });
    const inventory = { vars: { large_file_bytes: 30_000_000 } };
    // Slow enough to be interrupted in the middle.
    host.slow('80mbit');
    const run = await runBesideAnother({ host, inventory }, async () => {
      // The first command begins with such a process, too: the one before this file has made the folder.
      await vi.waitFor(() => expect(host.run('ls /etc/light')).toContain('node'), 60_000);
      await host.untilRuns(/^cat$/);
      host.killSessions();
    });
    host.slow(undefined);
    lost(run, 'written', /the connection was lost/);
    await delay(500);
    expect(host.run('cat /etc/light/large; ls -A /etc/light | grep -c "^\\.large" || :')).toBe('old\n0\n');
    host.run('rm /etc/light/large');
    await nextRunConverges(host);
  });

  test.concurrent('TCP reset during a change: reported, others go on, next run converges', async () => {
    const host = await started('reset');
    const run = await runBesideAnother({ host, inventory: working }, async () => {
      await host.untilRuns(isWorking);
      host.reset();
    });
    lost(run, 'reset', /the connection was lost: .*ECONNRESET/);
    await nextRunConverges(host);
  });

  test.concurrent('sshd restarted during a change: the run goes on', async () => {
    const host = await started('restarted');
    const run = await runBesideAnother({ host, inventory: working }, async () => {
      await host.untilRuns(isWorking);
      host.restartSshd();
    });
    expect(run.errorsOf('restarted')).toBe('');
    expect(run.exitCode).toBe(exitCode.converged);
    await nextRunConverges(host);
  });

  test.concurrent('network down for 5 s during a change: the run goes on', async () => {
    const host = await started('away-shortly');
    const run = await runBesideAnother({ host, inventory: working }, async () => {
      await host.untilRuns(isWorking);
      host.cable('down');
      await delay(5000);
      host.cable('up');
    });
    expect(run.errorsOf('away-shortly')).toBe('');
    expect(run.exitCode).toBe(exitCode.converged);
    await nextRunConverges(host);
  });

  test.concurrent('host does not answer from the start: reported within three times --timeout, others go on', async () => {
    const host = await started('silent');
    const other = await started('beside');
    host.cable('down');
    const run = await runLight([{ host }, { host: other }], '--timeout', '2');
    expect(run.errorsOf('silent')).toMatch(/no answer from .* within 2 s\n {2}is the host up/);
    expect(run.exitCode).toBe(exitCode.unreachable);
    expect(run.summary.beside?.counts).toMatchObject({ changed: 5 });
    // The default of --timeout would take 45 s.
    expect(run.summary.silent?.seconds).toBeLessThan(40);
    host.cable('up');
    await nextRunConverges(host);
  });

  test.concurrent('connection accepted, and nothing said: reported, others go on', async () => {
    const host = await started('beside');
    const server = createServer();
    const port = await freePort();
    server.listen(port, '127.0.0.1');
    const mute = { host: { ...host, name: 'mute', address: '127.0.0.1' }, inventory: { port } };
    const run = await runLight([mute, { host }], '--timeout', '2');
    server.close();
    expect(run.errorsOf('mute')).toMatch(/no answer from 127\.0\.0\.1 port \d+ within 2 s/);
    expect(run.exitCode).toBe(exitCode.unreachable);
    expect(run.summary.beside?.counts).toMatchObject({ changed: 5 });
  });

  test.concurrent('connection refused: reported, others go on, next run converges', async () => {
    const host = await started('refusing');
    const run = await runBesideAnother({ host, inventory: { port: 23 } }, async () => {});
    expect(run.errorsOf('refusing')).toMatch(/refused the connection\n {2}is sshd running there/);
    expect(run.exitCode).toBe(exitCode.unreachable);
    await nextRunConverges(host);
  });
});
