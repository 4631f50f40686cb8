import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { readForwarding } from './forwarding.ts';

const says = async (text: string) =>
  readForwarding(fakeHost([[/^cat \/proc\/sys\/net\/ipv4\/ip_forward$/, text]]));

test('a kernel that does not forward the packets of containers', async () => {
  expect(await says('0\n')).toEqual([
    {
      is: 'no-forwarding',
      about: 'docker',
      fault: true,
      says: 'docker: net.ipv4.ip_forward is 0, so containers reach no other host, and no other host reaches them: sysctl -w net.ipv4.ip_forward=1, and take it out of what sets it (grep -r ip_forward /etc/sysctl* /etc/ufw)',
    },
  ]);
  expect(await says('1\n')).toEqual([]);
  expect(await says('')).toEqual([]);
});
