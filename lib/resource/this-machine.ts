import { connect } from '../host/connection.ts';
import type { Writer } from '../host/host.ts';
import { createWriter } from '../host/writer.ts';

/** For tests: this machine as a host, by the local connection. */
export async function thisMachine(): Promise<Writer> {
  const connection = await connect('this machine', {
    type: 'local',
    address: 'localhost',
    port: undefined,
    user: undefined,
    hostKeys: [],
    identityFile: undefined,
    knownHostsFile: undefined,
    jump: [],
    becomePassword: undefined,
  });
  return createWriter(connection, 'this machine', { onProgress: () => {} });
}
