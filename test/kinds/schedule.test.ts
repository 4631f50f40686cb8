import { beforeAll, expect, test } from 'vitest';
import { schedule } from '../../lib/engine/resource/system/schedule.ts';
import type { TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { converge } from './converge.ts';
import { scratchHost } from './scratch.ts';

const name = 'kinds-test-schedule';
const log = '/run/kinds-test-schedule.log';
// Every character with a special meaning in a unit file or a shell.
const said = `a "b" 'c' %h \\t`;
const work = {
  command: `HERE=there; printf '%s\\n' "$HERE $\{HERE} ${said.replace(/["\\]/g, '\\$&')}" >> ${log}`,
  description: 'Counts 100% of seconds',
};
// It writes to /run.
const everySecond = schedule(name, { every: 1, ...work, sandbox: false });
const everyHour = schedule(name, { every: 3600, ...work, sandbox: false });

let host: TestHost;
beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  return scratch.remove;
});

test('the command runs repeatedly, exactly as written', async () => {
  const differences = await converge(host, everySecond);
  expect(differences.filter(({ what }) => what === 'content').map(({ wanted }) => wanted)).toEqual([
    expect.stringContaining('ExecStart='),
    expect.stringContaining('OnUnitActiveSec=1s'),
  ]);
  await host.sleep(4);
  const lines = (await host.$`cat ${log}`).lines();
  expect(lines.length).toBeGreaterThanOrEqual(2);
  expect(new Set(lines)).toEqual(new Set([`there there ${said}`]));
  expect((await host.$`systemctl is-enabled ${`${name}.timer`}`).text()).toBe('enabled');
  expect((await host.$`systemctl show -p Description --value ${`${name}.timer`}`).text()).toBe(
    'Counts 100% of seconds',
  );
});

test('a command in a sandbox writes what it may, and nothing else', async () => {
  const kept = '/var/lib/kinds-test-schedule';
  await host.run`mkdir -p ${kept}`;
  const command = `touch ${kept}/yes; touch /etc/kinds-test-no /home/no /var/lib/no; df -P / | tail -n 1 >${kept}/df; curl -sS file:///etc/hostname >${kept}/name`;
  await converge(
    host,
    schedule(`${name}-sandbox`, { every: 1, command, description: 'a test', writes: [kept] }),
  );
  await host.run`systemctl stop ${`${name}-sandbox.timer`}`;
  // Ends when the command has ended, which fails at what it may not write.
  await host.$`systemctl start ${`${name}-sandbox.service`}`;
  expect((await host.$`ls ${kept}`).lines()).toEqual(['df', 'name', 'yes']);
  expect((await host.$`ls /etc/kinds-test-no /home/no /var/lib/no 2>/dev/null`).lines()).toEqual([]);
  expect((await host.$`sed 's/.* //' ${kept}/df`).text()).toBe('/');
});

test('another interval replaces the timer and takes effect', async () => {
  await converge(host, everyHour);
  const next = await host.$`systemctl show -p TimersMonotonic --value ${`${name}.timer`}`;
  expect(next.text()).toContain('OnUnitActiveUSec=1h');
});

test('a stopped timer is drift, and is started', async () => {
  await host.run`systemctl stop ${`${name}.timer`}`;
  expect(await converge(host, everyHour)).toMatchObject([{ what: 'state' }]);
});

test('a unit file that was changed by hand is fixed', async () => {
  await host.run`sed -i s/Counts/Miscounts/ /etc/systemd/system/${name}.service`;
  await converge(host, everyHour);
});

test('units that systemd has not loaded yet are drift, and it is reloaded', async () => {
  await host.run`systemctl disable --now --quiet ${`${name}.timer`}
    cd /etc/systemd/system && mv ${`${name}.timer`} away && systemctl daemon-reload && mv away ${`${name}.timer`}`;
  await converge(host, everyHour);
});
