import { beforeAll, expect, test } from 'vitest';
import { authorizedKey, group, stoppedService, sysctl, user } from '../../lib/engine/resource/kinds.ts';
import type { TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { converge } from './converge.ts';
import { scratchHost } from './scratch.ts';

const key =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJxvLQ2y0k4fE6m3b7Wq1a9sT5uV8xYzAbCdEfGhIjKl deploy@example.org';

let host: TestHost;
beforeAll(async () => {
  const scratch = await scratchHost();
  host = scratch.host;
  return scratch.remove;
});

test('a user with its groups and key can be made, and later changed', async () => {
  await converge(host, group('operators', { gid: 990 }));
  await converge(host, user('deploy', { groups: ['operators'] }));
  await converge(host, authorizedKey('deploy', key));
  await host.run`printf %s 'ssh-ed25519 AAAAother' > /home/deploy/.ssh/authorized_keys`;
  await converge(host, authorizedKey('deploy', key));
  expect((await host.$`cat /home/deploy/.ssh/authorized_keys`).text()).toBe(`ssh-ed25519 AAAAother\n${key}`);
  const modes = await host.$`stat -c ${'%a %U:%G'} /home/deploy/.ssh /home/deploy/.ssh/authorized_keys`;
  expect(modes.text()).toBe('700 deploy:deploy\n600 deploy:deploy');
  await converge(host, user('deploy', { groups: ['operators', 'audio'], shell: '/bin/sh' }));
  expect((await host.$`id -nG deploy`).text()).toBe('deploy audio operators');
});

test('a key is never written through a link of the user to a file that only root may write', async () => {
  await host.run`mkdir -p /root/target && chmod 700 /root/target && rm -rf /home/deploy/.ssh && ln -s /root/target /home/deploy/.ssh`;
  await expect(converge(host, authorizedKey('deploy', key))).rejects.toThrow(/denied|cannot/i);
  expect((await host.$`ls /root/target`).text()).toBe('');
});

test('a service is stopped and stays disabled', async () => {
  const unit = '[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n';
  await host.run({
    stdin: unit,
  })`cat > /etc/systemd/system/sleeper.service && systemctl enable --now sleeper`;
  await converge(host, stoppedService('sleeper'));
  expect((await host.$`systemctl is-enabled sleeper; systemctl is-active sleeper`).text()).toBe(
    'disabled\ninactive',
  );
});

test('a kernel setting is set now and for the next boot', async () => {
  await converge(host, sysctl('net.ipv4.ip_local_port_range', '20000 60000'));
  expect((await host.$`cat /proc/sys/net/ipv4/ip_local_port_range`).text()).toBe('20000\t60000');
});
