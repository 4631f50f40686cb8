import { expect, test } from 'vitest';
import { physicalManifest } from '../testing/physical-manifest.ts';
import { manifestSchema, physicalManifestSchema } from './manifest.ts';
import { variablesSchema } from './variables.ts';

const download = { url: 'http://files/a', sha256: 'a'.repeat(64) };

function words(
  schema: { safeParse(value: unknown): { error?: { issues: { message: string; path: PropertyKey[] }[] } } },
  value: unknown,
) {
  return schema.safeParse(value).error?.issues.map(({ message, path }) => `${path.join('.')} ${message}`);
}

test('a snapshot is named by its archives and day, or by its manifest', () => {
  const { snapshot } = variablesSchema.shape;
  expect(words(snapshot, { manifest: 'http://files/manifest.json' })).toBe(undefined);
  expect(words(snapshot, { state: download, prover: download, date: '2024-05-01' })).toBe(undefined);
  expect(words(snapshot, { manifest: 'http://files/manifest.json', date: '2024-05-01' })).toEqual([
    'date has no use: the manifest has it\nleave one of the two out',
  ]);
});

test('a manifest names files beside it, and a block', () => {
  const archive = { file: '../a', sha256: 'a'.repeat(64), bytes: 1 };
  const found = words(manifestSchema, {
    network: 'test',
    date: '2024-05-01',
    taken_at: '2024-05-01T00:00:00Z',
    block: 1,
    hash: '0x1',
    state: archive,
    prover: { ...archive, file: 'a' },
  });
  expect(found).toEqual(['hash must be 0x and 64 hex digits', 'state.file must be the name of a file']);
});

test('pieces of a physical snapshot are beside its manifest, and only have parts of its own files', () => {
  const [piece] = physicalManifest.pieces;
  const wrong = { ...piece, file: '../x', last: { path: 'base/../../x', bytes: 1 } };
  expect(words(physicalManifestSchema, { ...physicalManifest, pieces: [wrong] })).toEqual([
    'pieces.0.file must be the name of a piece',
    'pieces.0.last.path must be a path within a folder',
  ]);
});
