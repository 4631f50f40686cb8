import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { downloadScript, proofDifferences } from './download.ts';

const hash = 'a'.repeat(64);
const file = { size: 3_000_000_000, modified: 1700000000.75 };

test.each([
  [`${hash} 3000000000 1700000000\n`, []],
  [`${'b'.repeat(64)} 3000000000 1700000000`, [{ what: 'SHA-256', was: 'b'.repeat(64), wanted: hash }]],
  [`${hash} 3000000001 1700000000`, [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${hash}` }]],
  [`${hash} 3000000000 1700000001`, [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${hash}` }]],
  ['', [{ what: 'file', was: 'not verified', wanted: `SHA-256 ${hash}` }]],
])('a note beside a file speaks of this file and of the wanted content, or does not count: %#', (note, differences) => {
  expect(proofDifferences(note, file, hash)).toEqual(differences);
});

test('the script is a POSIX shell script whatever the address and the path are', () => {
  const source = { url: "http://x/it's?a=$(touch /tmp/x)&b=`id`", path: "/data/a 'b'/c", sha256: hash };
  execFileSync('/bin/sh', ['-n'], { input: downloadScript(source, '/run/x.status') });
  expect(downloadScript(source, '/run/x.status')).toContain(`url='http://x/it'\\''s?a=$(touch /tmp/x)&b=\`id\`'`);
});
