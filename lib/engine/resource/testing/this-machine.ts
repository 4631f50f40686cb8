import { connectLocally } from '../../host/testing/local-connection.ts';
import { hostOver, type TestHost } from './test-host.ts';

/** For tests: this machine as a host, by the local connection. */
export async function thisMachine(): Promise<TestHost> {
  return hostOver(await connectLocally());
}
