import { secretReferenceSchema } from '../../engine/inventory/schema.ts';
import { secretReferenceKinds } from '../../engine/inventory/secret-reference.ts';
import * as types from './value-types.ts';

/** Variables of the host in group `backup`, and of the server that it copies. */
export const backupSchema = {
  password: secretReferenceSchema
    .optional()
    .describe(
      `Where the password of the role that copies the database server is, needed with a host in group backup: ${secretReferenceKinds}`,
    ),
  keep_days: types
    .whole(1, 3650)
    .default(7)
    .describe('The databases can be recovered as they were at any moment of this many days'),
  every_hours: types.whole(1, 720).default(24).describe('Hours between two base backups'),
  most_kept: types.memory(
    '64GB',
    'Most write-ahead log that the database server keeps for a backup host or a replica that does not fetch it; then the server drops it and goes on',
  ),
  drill_hours: types
    .whole(0, 8760)
    .default(0)
    .describe('Hours between two recovery drills on the backup host; 0: none by itself'),
};
