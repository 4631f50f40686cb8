import type { Writer } from '../../host/host.ts';
import { connectLocally } from '../../host/testing/local-connection.ts';
import { createWriter } from '../../host/writer.ts';

/** For tests: this machine as a host, by the local connection. */
export async function thisMachine(): Promise<Writer> {
  return createWriter(await connectLocally(), 'this machine', { onProgress: () => {} });
}
