import type { Writer } from '../../host/host.ts';

/** The run was interrupted while something was waited for. */
export class Interrupted extends Error {
  constructor(meanwhile = '') {
    super(meanwhile ? `interrupted; ${meanwhile}` : 'interrupted while waiting');
    this.name = 'Interrupted';
  }
}

/**
 * Waits between two looks. A wait that was cut short was interrupted: to look again at once, and again, would be a busy loop.
 *
 * @param meanwhile what goes on without us, for the operator
 * @throws Interrupted
 */
export async function pause(host: Writer, seconds: number, meanwhile?: string): Promise<void> {
  const from = performance.now();
  await host.sleep(seconds);
  if (performance.now() - from < seconds * 900) throw new Interrupted(meanwhile);
}
