import type { Writer } from '../../host/host.ts';

/** The run was interrupted during a wait. */
export class Interrupted extends Error {
  constructor(meanwhile = '') {
    super(meanwhile ? `interrupted; ${meanwhile}` : 'interrupted while waiting');
    this.name = 'Interrupted';
  }
}

/**
 * Waits between two checks. A shortened wait was interrupted: an immediate new check would be a
 * busy loop.
 *
 * @param meanwhile the work that continues on the host, for the operator
 * @param until its end is the end of the wait, too
 * @throws Interrupted
 */
export async function pause(
  host: Writer,
  seconds: number,
  meanwhile?: string,
  until?: Promise<unknown>,
): Promise<void> {
  const from = performance.now();
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  await host.sleep(seconds, until?.then(over, over));
  if (!isOver && performance.now() - from < seconds * 900) throw new Interrupted(meanwhile);
}
