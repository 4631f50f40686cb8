import type { PhysicalManifest } from '../variables/manifest.ts';
import type { Variables } from '../variables/variables.ts';

const sha256 = (digit: string) => digit.repeat(64);

/** The manifest of a small physical snapshot. */
export const physicalManifest: PhysicalManifest = {
  format: 'physical',
  version: '0.1.0',
  network: 'test',
  chain_id: 55555,
  l2_chain_id: null,
  password_hashes: true,
  date: '2024-06-01',
  taken_at: '2024-06-01T10:00:00Z',
  block: 12,
  hash: `0x${sha256('e')}`,
  postgres: 15,
  architecture: 'x86_64',
  collation: '2.36',
  image: 'sha256:1',
  migrations: ['0001.sql'],
  superuser: 'postgres',
  state_oid: 16384,
  prover_oid: 16385,
  prover_role_oid: 16386,
  pieces: [
    {
      file: 'piece-000000.tar.zst',
      sha256: sha256('1'),
      bytes: 10,
      raw: 1024,
      last: { path: 'base/1/2', bytes: 512 },
    },
    {
      file: 'piece-000001.tar.zst',
      sha256: sha256('2'),
      bytes: 20,
      raw: 512,
      first: { path: 'base/1/2', at: 512, bytes: 100 },
    },
  ],
};

/** Variables that name a physical snapshot in place of archives. */
export function startingFromFiles(vars: Variables, manifest = physicalManifest): Variables {
  return { ...vars, snapshot: { ...vars.snapshot, physical: { manifest, folder: 'http://files/a/' } } };
}
