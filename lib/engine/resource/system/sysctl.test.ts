import { expect, test } from 'vitest';
import { fakeHost } from '../testing/fake-host.ts';
import { sysctl } from './sysctl.ts';

test('the kernel and the file for the next boot are both changed, and tabs between numbers do not differ', async () => {
  const saved = (content: string) => ({ read: async () => Buffer.from(content) });
  const resource = sysctl('net.ipv4.tcp_rmem', '4096 131072 6291456');
  const now = [[/^sysctl -n/, '4096\t131072\t6291456\n']] as const;
  expect(await resource.check(fakeHost(now, saved('net.ipv4.tcp_rmem = 4096 131072 6291456\n')))).toEqual({
    is: 'ok',
  });
  const path = '/etc/sysctl.d/90-net.ipv4.tcp_rmem.conf';
  expect(await resource.check(fakeHost(now))).toMatchObject({
    differences: [{ what: path, was: 'absent' }],
    change: [{ do: 'write', path }, { command: `sysctl -q -p ${path}` }],
  });
  expect(await sysctl('vm.swappiness', 1).check(fakeHost([[/^sysctl -n/, '60\n']]))).toMatchObject({
    differences: [
      { what: 'now', was: '60', wanted: '1' },
      { was: 'absent', wanted: 'vm.swappiness = 1\n' },
    ],
  });
});

test('a setting that the kernel does not have is refused', async () => {
  expect(await sysctl('vm.swapiness', 1).check(fakeHost([]))).toMatchObject({
    note: 'this kernel has no setting vm.swapiness',
    change: { hint: 'correct the role, or load the module that has it' },
  });
});
