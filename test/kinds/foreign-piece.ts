import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PhysicalManifest } from '../../lib/node/variables/manifest.ts';

/** Of a frame that zstd skips. */
const skipped = 0x184d2a50;

/**
 * A piece that is unpacked as the piece of a manifest is, has its length, and holds a foreign file.
 *
 * @param path of the foreign file in the data directory
 */
export function foreignPiece({ bytes, first }: PhysicalManifest['pieces'][number], path: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'foreign-'));
  try {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), 'foreign');
    const tar = execFileSync('tar', ['-cf', '-', '-C', folder, path]);
    const before = Math.ceil((first?.bytes ?? 0) / 512) * 512;
    const input = Buffer.concat([Buffer.alloc(before), tar]);
    const piece = execFileSync('zstd', ['-qc'], { input });
    const rest = Buffer.alloc(bytes - piece.length);
    rest.writeUInt32LE(skipped, 0);
    rest.writeUInt32LE(rest.length - 8, 4);
    return Buffer.concat([piece, rest]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
