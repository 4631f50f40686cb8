import { expect, test } from 'vitest';
import { Problem } from '../../engine/problem/problem.ts';
import { drift, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { readFleet } from './fleet.ts';
import { anyServes, checkedFiles, runsWith } from './haproxy.ts';

const files = [{ path: '/etc/rpc-node/gateway/haproxy.cfg', content: 'global\n' }];
const running = { ...stoppedUnit, load: 'loaded', active: 'active', enabled: 'enabled' };
const answers = (fleet: object) => [/probe/, `HTTP/1.1 200 OK\n\n${JSON.stringify(fleet)}`] as const;
const host = {
  host: 'rpc-1',
  serves: true,
  fit: true,
  reason: null,
  drained: null,
  height: 5,
  hash: '0x5',
  sessions: 0,
};

test('HAProxy checks the files in a folder beside their own before they are put in place', async () => {
  const verdict = await checkedFiles(files).check(fakeHost([]));
  const steps = verdict.is === 'drift' && !(verdict.change instanceof Problem) ? (verdict.change ?? []) : [];
  const staged = '/etc/rpc-node/gateway.new/haproxy.cfg';
  expect(steps.map((step) => (step.do === 'run' ? step.command.split('\n')[0] : step.path))).toEqual([
    'umask 077 && mkdir -p /etc/rpc-node/gateway.new',
    staged,
    `said=$(haproxy -c -f /etc/rpc-node/gateway.new/haproxy.cfg 2>&1) && rm -rf /etc/rpc-node/gateway.new && exit`,
    '/etc/rpc-node/gateway/haproxy.cfg',
  ]);
});

test('scripts of the threads are tried in that folder, too', async () => {
  const lines = [
    'lua-load-per-thread /etc/rpc-node/gateway/a.lua',
    'bind *:80 ssl crt /etc/rpc-node/gateway/acme.pem',
  ];
  const placed: string[] = [];
  const accepting = fakeHost(
    [
      [/^umask/, ''],
      [/^said=/, ''],
    ],
    { place: (step) => 'content' in step && placed.push(String(step.content)) },
  );
  await applyDrift(accepting, checkedFiles(files.map(({ path }) => ({ path, content: lines.join('\n') }))));
  expect(placed).toEqual([
    [lines[0]?.replace('gateway', 'gateway.new'), lines[1]].join('\n'),
    lines.join('\n'),
  ]);
});

test('files that HAProxy refuses are not put in place', async () => {
  const written: string[] = [];
  const refusing = fakeHost(
    [
      [/^umask/, ''],
      [/^said=/, { exitCode: 1, stderr: 'config : parsing [a.cfg:3] : unknown keyword\n' }],
    ],
    { place: ({ path }) => written.push(path) },
  );
  await expect(applyDrift(refusing, checkedFiles(files))).rejects.toMatchObject({
    message:
      'HAProxy refuses its configuration, and keeps the one it has: config : parsing [a.cfg:3] : unknown keyword',
    hint: 'see templates/gateway in this project',
  });
  expect(written).toEqual(['/etc/rpc-node/gateway.new/haproxy.cfg']);
});

test('HAProxy that runs with other files is drift', async () => {
  const resource = runsWith(files, 'new', 9101);
  const unit = async () => running;
  expect(await resource.check(fakeHost([answers({ configuration: 'new', hosts: [] })], { unit }))).toEqual(
    ok,
  );
  expect(await resource.check(fakeHost([answers({ configuration: 'old', hosts: [] })], { unit }))).toEqual(
    drift([{ what: 'runs with', was: 'other files', wanted: 'new' }]),
  );
  expect(await resource.check(fakeHost([], { unit: async () => stoppedUnit }))).toMatchObject({
    is: 'drift',
  });
});

test('a start that fails is reported with the end of the journal', async () => {
  const failing = fakeHost([
    [/systemctl --quiet enable/, { exitCode: 1, stderr: 'Job failed' }],
    [/last-words haproxy.service 12/, 'cannot bind socket\n'],
  ]);
  await expect(runsWith(files, 'new', 9101).work(failing)).rejects.toMatchObject({
    message:
      'haproxy.service does not run with its files: HAProxy does not answer on port 9101: not found\ncannot bind socket',
    hint: 'see systemctl status haproxy.service',
  });
  const old = fakeHost([
    [/systemctl --quiet enable/, { exitCode: 1 }],
    [/last-words haproxy.service 12/, ''],
    answers({ configuration: 'old', hosts: [] }),
  ]);
  await expect(runsWith(files, 'new', 9101).work(old)).rejects.toThrow(
    'haproxy.service does not run with its files: it runs with other files',
  );
});

test('another program on the port is no gateway', async () => {
  expect(await readFleet(fakeHost([answers({ other: true })]), 9101)).toEqual({
    ok: false,
    error: 'port 9101 answers, but not the gateway',
  });
});

test('who does not serve is reported with the reason', async () => {
  expect(await anyServes(fakeHost([answers({ configuration: 'x', hosts: [host] })]), 9101)).toEqual(ok);
  const out = { ...host, serves: false, reason: 'drained: restart' };
  expect(await anyServes(fakeHost([answers({ configuration: 'x', hosts: [out] })]), 9101)).toEqual(
    drift('rpc-1: drained: restart'),
  );
  const unknown = { ...host, serves: false };
  expect(await anyServes(fakeHost([answers({ configuration: 'x', hosts: [unknown] })]), 9101)).toEqual(
    drift('rpc-1: not asked yet'),
  );
  expect(await anyServes(fakeHost([]), 9101)).toEqual(unknownUntil('HAProxy runs'));
});
