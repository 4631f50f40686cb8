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

/** A path within a data directory. */
const path = matching(
  /^(?!(?:.*\/)?\.{1,2}(?:\/|$))[\w.+-]+(?:\/[\w.+-]+)*$/,
  'must be a path within a folder',
  'path',
);
const offset = z.int().nonnegative();

/** The name of a piece: of a large file, or of the tar stream of all others. */
export const pieceName = /^piece-\d{6}(\.tar)?\.zst$/;

/** A part of a file, or of a tar stream, compressed by zstd. */
const piece = z.strictObject({
  file: matching(pieceName, 'must be the name of a piece', 'file name'),
  sha256: types.download.shape.sha256,
  bytes: types.count,
  /** Decompressed bytes. */
  raw: offset,
  /** The file of which it is a part. Of a tar stream: the file whose rest it begins with. */
  first: z.strictObject({ path, at: offset, bytes: offset }).optional(),
  /** The part of a file that it ends with, where the file ends in a later piece. */
  last: z.strictObject({ path, bytes: offset }).optional(),
});

const objectId = z.int().positive();

/** What templates/host/physical-snapshot.sh writes beside the pieces of a snapshot. */
export const physicalManifestSchema = z.strictObject({
  format: z.literal('physical'),
  /** The program that took it. */
  version: z.string(),
  network: z.enum(['main', 'test']),
  /** Of layer 1. */
  chain_id: types.count,
  l2_chain_id: types.count.nullable(),
  /** Whether roles are in it, with the hashes of their passwords. */
  password_hashes: z.boolean(),
  date: types.pastDay,
  /** When the copy began. UTC. */
  taken_at: z.iso.datetime(),
  /** Height and hash of the newest block then. The copy has what came meanwhile, too. */
  block: z.int().nonnegative(),
  hash: matching(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits', 'hash'),
  /** Major version of PostgreSQL. */
  postgres: types.count,
  /** As `uname -m` prints it. */
  architecture: z.string(),
  /**
   * Version of its C library, by whose rules text is sorted: `none` where it has no version, null
   * where the rules never change.
   */
  collation: z.string().nullable(),
  /** Name and digest of the image of the database server; its id where it is of no registry. */
  image: z.string(),
  /** Names of those of the state database. */
  migrations: z.array(z.string()),
  superuser: z.string().min(1),
  state_oid: objectId,
  prover_oid: objectId,
  prover_role_oid: objectId,
  pieces: z.array(piece).min(1).max(100_000),
});

export type PhysicalManifest = z.output<typeof physicalManifestSchema>;

/** Why a physical snapshot is of another chain than that of a deployment; empty where it is not. */
export function whyOtherChain(
  { network, chain_id, l2_chain_id }: PhysicalManifest,
  own: {
    readonly kind: PhysicalManifest['network'];
    readonly chain_id: number;
    readonly l2_chain_id?: number | undefined;
  },
): string {
  if (network !== own.kind) return `is of the ${network} network`;
  if (chain_id !== own.chain_id) return `is of another chain: its chain_id is ${chain_id}`;
  return l2_chain_id === null || own.l2_chain_id === undefined || l2_chain_id === own.l2_chain_id
    ? ''
    : `is of another chain: its l2_chain_id is ${l2_chain_id}`;
}
