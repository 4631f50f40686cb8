import { expect, test } from 'vitest';
import { drift } from '../resource.ts';
import { fakeHost, runningContainer } from '../testing/fake-host.ts';
import { applyDrift } from '../testing/test-host.ts';
import { containerListens, listeningPorts } from './listening.ts';

test('only listening sockets count, of IPv4 and IPv6', () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:C38D 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:C397 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:1FBB 00000000000000000000000000000000:0000 0A 00000000:00000000
`;
  expect(listeningPorts(table)).toEqual(new Set([50061, 8123]));
});

test('a container that does not listen in time is reported with its port and what to check', async () => {
  const host = fakeHost([[/docker inspect/, '  0: 00000000:C38D 00000000:0000 0A 00000000:0 0 0\n']], {
    container: async () => runningContainer,
  });
  const prover = containerListens('prover', [50061, 50071], 0, 'look at `docker logs prover`');
  expect(await prover.check(host)).toMatchObject(drift('prover does not listen on 50071'));
  await expect(applyDrift(host, prover)).rejects.toMatchObject({
    message: 'prover listens on 50061 and 50071: not within 0 s: prover does not listen on 50071',
    hint: 'look at `docker logs prover`',
  });
});
