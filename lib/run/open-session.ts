import { connect } from '../host/connection.ts';
import { gatherFacts } from '../host/gather-facts.ts';
import { createReader } from '../host/reader.ts';
import { createWriter } from '../host/writer.ts';
import type { InventoryHost } from '../inventory/inventory.ts';
import type { Secret } from '../secret/secret.ts';
import type { Session } from './session.ts';

/**
 * Connects to a host and gathers its facts.
 *
 * @param becomePassword asked of the operator; outranks the inventory's
 * @param interrupt ends waiting, for the host to answer and for long work on it
 * @throws Unreachable
 */
export async function openSession<V>(
  host: InventoryHost<V>,
  becomePassword: Secret | undefined,
  interrupt: AbortSignal,
): Promise<Session> {
  const reach = becomePassword ? { ...host.reach, becomePassword } : host.reach;
  const connection = await connect(host.name, reach, { signal: interrupt });
  try {
    const reader = createReader(connection, host.name);
    const facts = await gatherFacts(reader);
    return {
      reader,
      facts,
      writerFor: (onProgress) => createWriter(connection, host.name, { onProgress, signal: interrupt }),
      roundTrips: () => connection.execs,
      close: () => connection.close(),
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}
