import { beforeAll, beforeEach, expect, test } from 'vitest';
import { write } from '../../lib/engine/host/step.ts';
import { service } from '../../lib/engine/resource/system/service.ts';
import { applyDrift, makeSteps, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { converge } from './converge.ts';
import { scratchHost } from './scratch.ts';

const unit = 'kinds-test.service';
const unitFile = `/etc/systemd/system/${unit}`;
const settings = '/etc/kinds-test.conf';

let host: TestHost;
beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  return scratch.remove;
});
beforeEach(async () => {
  await cleanUp();
  await install('ExecStart=/bin/sleep infinity');
});

async function cleanUp() {
  await host.run({ allow: [0, 1, 5] })`systemctl disable --now --quiet ${unit}`;
  await host.run`rm -rf ${unitFile} ${`${unitFile}.d`} ${settings} && systemctl daemon-reload`;
  await host.run({ allow: [0, 1] })`systemctl reset-failed ${unit}`;
}

async function install(command: string) {
  const text = `[Service]\n${command}\n[Install]\nWantedBy=multi-user.target\n`;
  await makeSteps(host, write(unitFile, text));
  await host.run`systemctl daemon-reload`;
}

const started = async () => (await host.unit(unit)).activeSince;

test('a unit that is not installed is unknown, and a change reports it', async () => {
  const missing = service('not-here');
  expect(await missing.check(host)).toEqual({ is: 'unknown', until: 'not-here.service is installed' });
});

test('a stopped, disabled unit is enabled and started', async () => {
  const differences = await converge(host, service('kinds-test'));
  expect(differences).toEqual([
    { what: 'at boot', was: 'disabled', wanted: 'enabled' },
    { what: 'state', was: 'inactive (dead)', wanted: 'active' },
  ]);
  expect((await host.$`systemctl is-enabled ${unit}`).text()).toBe('enabled');
});

test('a running unit that is disabled is enabled and keeps running', async () => {
  await host.run`systemctl start ${unit}`;
  const before = await started();
  expect(await converge(host, service(unit))).toEqual([
    { what: 'at boot', was: 'disabled', wanted: 'enabled' },
  ]);
  expect(await started()).toBe(before);
});

test('a start follows a drop-in that has just been made', async () => {
  await host.run`systemctl enable --quiet ${unit} && systemctl show ${unit} && mkdir ${`${unitFile}.d`}`;
  await host.run`printf '[Service]\\nEnvironment=FROM=drop-in\\n' > ${`${unitFile}.d/a.conf`}`;
  await converge(host, service(unit));
  expect((await host.$`systemctl show --property Environment --value ${unit}`).text()).toBe('FROM=drop-in');
});

test('a running unit that is disabled is enabled and restarted after a change of its file', async () => {
  await host.run`echo first > ${settings} && systemctl start ${unit} && sleep 0.1 && echo changed > ${settings}`;
  expect(await converge(host, service(unit, [settings]))).toEqual([
    { what: 'at boot', was: 'disabled', wanted: 'enabled' },
    { what: 'started', was: `before ${settings} changed`, wanted: 'after it' },
  ]);
});

test('it restarts once for a changed file, and not again', async () => {
  const kept = service(unit, [settings]);
  await converge(host, kept);
  const first = await started();
  await host.run`echo changed > ${settings}`;
  expect(await converge(host, kept)).toEqual([
    { what: 'started', was: `before ${settings} changed`, wanted: 'after it' },
  ]);
  const second = await started();
  expect(second).toBeGreaterThan(first);
  expect(await kept.check(host)).toEqual({ is: 'ok' });
  expect(await started()).toBe(second);
});

test('a file and a start within one second are distinguished', async () => {
  const kept = service(unit, [settings]);
  await converge(host, kept);
  for (let round = 0; round < 3; round += 1) {
    await host.run`echo ${round} > ${settings} && systemctl restart ${unit}`;
    expect(await kept.check(host)).toEqual({ is: 'ok' });
    await host.run`sleep 0.05; echo ${round} again > ${settings}`;
    expect(await kept.check(host)).toMatchObject({ is: 'drift' });
  }
});

test('a unit that failed too often to be started is started again', async () => {
  await install('ExecStart=/bin/false');
  await host.$`for i in 1 2 3 4 5 6 7; do systemctl start ${unit}; done; sleep 0.3; systemctl start ${unit}`;
  await install('ExecStart=/bin/sleep infinity');
  await converge(host, service(unit));
});

test('a unit that does not start fails with the end of its journal', async () => {
  await install('Type=oneshot\nExecStart=/bin/sh -c "echo the-cause; exit 3"');
  await expect(applyDrift(host, service(unit))).rejects.toThrow(
    /kinds-test.service did not start[\s\S]*the-cause/,
  );
});

test('the end of the journal is shown when journald is slow, too', async () => {
  const slow = `systemctl kill --signal STOP systemd-journald
    setsid sh -c 'sleep 3; systemctl kill --signal CONT systemd-journald' >/dev/null 2>&1 </dev/null &`;
  await install('Type=oneshot\nExecStart=/bin/sh -c "echo late-cause; exit 3"');
  await host.run`sh -c ${slow}`;
  await expect(applyDrift(host, service(unit))).rejects.toThrow(
    /kinds-test.service did not start[\s\S]*late-cause/,
  );

  await install('ExecStart=/bin/sh -c "echo late-words; sleep 0.3; exit 1"');
  await host.run`sh -c ${slow}`;
  await applyDrift(host, service(unit));
  const note = expect.stringMatching(/^it ended just after its start:[\s\S]*late-words/);
  expect(await service(unit).check(host)).toMatchObject({ is: 'drift', note });
});

test('a unit that ends right after its start fails with the end of its journal', async () => {
  await install('ExecStart=/bin/sh -c "echo bad-setting; sleep 0.3; exit 1"');
  await applyDrift(host, service(unit));
  const note = expect.stringMatching(/^it ended just after its start:[\s\S]*bad-setting/);
  expect(await service(unit).check(host)).toMatchObject({ is: 'drift', note });
});

test('a unit that computes for a while and then ends fails with the end of its journal, and one that waits quietly is well', async () => {
  const computes = 'i=0; while [ $$i -lt 200000 ]; do i=$$((i+1)); done; echo bad-setting; exit 1';
  await install(`ExecStart=/bin/sh -c "${computes}"`);
  await applyDrift(host, service(unit));
  const note = expect.stringMatching(/^it ended just after its start:[\s\S]*bad-setting/);
  expect(await service(unit).check(host)).toMatchObject({ is: 'drift', note });
  await install('ExecStart=/bin/sleep infinity');
  await converge(host, service(unit));
});

test('a unit whose condition is not met fails, and names the condition', async () => {
  await install('ExecStart=/bin/sleep infinity\n[Unit]\nConditionPathExists=/not-here');
  await expect(applyDrift(host, service(unit))).rejects.toThrow(
    /did not start[\s\S]*ConditionPathExists=\/not-here/,
  );
});

test('a masked unit stays masked', async () => {
  await host.run`rm ${unitFile} && systemctl mask --quiet ${unit}`;
  try {
    const wanted = service(unit);
    expect(await wanted.check(host)).toMatchObject({ is: 'drift' });
    await expect(applyDrift(host, wanted)).rejects.toThrow('is masked');
    expect((await host.unit(unit)).load).toBe('masked');
  } finally {
    await host.run`systemctl unmask --quiet ${unit}`;
  }
});

/** A program that says who it is, then a number of lines, and ends. */
const says = (who: string, lines: number) => `/bin/sh -c 'echo ${who}; seq ${lines}; sleep 0.3; exit 3'`;

/** The words of a start that fails at once, or of the check that follows it. */
async function wordsOfStart(text: string): Promise<string[]> {
  await install(text);
  const failure = await applyDrift(host, service(unit)).then(
    () => undefined,
    (error: Error) => error.message,
  );
  const verdict = failure === undefined ? await service(unit).check(host) : undefined;
  return (failure ?? (verdict?.is === 'drift' ? verdict.note : undefined) ?? 'it runs').split('\n');
}

test.each([
  ['does not start', 'Type=oneshot\n'],
  ['ends just after its start', ''],
])(
  'of a unit that %s the last lines of this start are shown, and none of an earlier one',
  // On a busy machine it may end later than a second after its start.
  { retry: 3 },
  async (_, type) => {
    expect(await wordsOfStart(`${type}ExecStart=${says('first', 2)}`)).toEqual(
      expect.arrayContaining(['first', '1', '2']),
    );
    const long = await wordsOfStart(`${type}ExecStart=${says('second', 100)}`);
    expect(long).toEqual(expect.arrayContaining(['99', '100']));
    expect(long).not.toContain('1');
    const last = await wordsOfStart(`${type}ExecStart=${says('third', 1)}`);
    expect(last).toEqual(expect.arrayContaining(['third', '1']));
    expect(last).not.toContain('100');
  },
);
