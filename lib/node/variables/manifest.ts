import * as z from 'zod';
import { matching } from '../../engine/inventory/schema.ts';
import * as types from './value-types.ts';

const archive = z.strictObject({
  file: matching(/^\w[\w.-]*$/, 'must be the name of a file', 'file name'),
  sha256: types.download.shape.sha256,
  bytes: types.count,
});

/** What templates/host/take-snapshot.sh writes beside the two archives of a snapshot. */
export const manifestSchema = z.strictObject({
  network: z.enum(['main', 'test']),
  date: types.pastDay,
  /** The moment of the snapshot. UTC. */
  taken_at: z.iso.datetime(),
  /** Height and hash of its newest block. */
  block: z.int().nonnegative(),
  hash: matching(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits', 'hash'),
  state: archive,
  prover: archive,
});

export type Manifest = z.output<typeof manifestSchema>;
