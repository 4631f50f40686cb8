import { expect, test } from 'vitest';
import physicalSnapshot from '../../../roles/physical-snapshot.ts';
import snapshot from '../../../roles/snapshot.ts';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { physicalManifest, startingFromFiles } from '../testing/physical-manifest.ts';
import { contextOf } from '../testing/role-context.ts';
import type { PhysicalManifest } from '../variables/manifest.ts';

type Answers = Parameters<typeof fakeHost>[0];

/** A context whose inventory names a physical snapshot. */
async function physicalContext(changed: Partial<PhysicalManifest> = {}) {
  const context = await contextOf({});
  return { ...context, vars: startingFromFiles(context.vars, { ...physicalManifest, ...changed }) };
}

/** What the check of the resource with this word in its name says. */
async function said(word: string, answers: Answers, changed: Partial<PhysicalManifest> = {}) {
  const resources = await physicalSnapshot.resources(await physicalContext(changed));
  const verdict = await resources.find(({ name }) => name.includes(word))?.check(fakeHost(answers));
  if (verdict?.is === 'drift') return verdict.note ?? JSON.stringify(verdict.differences);
  return verdict?.is === 'unknown' ? `until ${verdict.until}` : verdict?.is;
}

test.each<[string, Answers, Partial<PhysicalManifest>, string]>([
  ['fit this server', [], {}, 'ok'],
  [
    'fit this server',
    [],
    { architecture: 'aarch64' },
    'they were made on aarch64, and the server is x86_64: no other architecture reads them',
  ],
  [
    'fit this server',
    [],
    { migrations: ['0001.sql', '0099.sql'] },
    'their state database has 0099.sql, which node v3.1.0 does not know',
  ],
  [
    'sorts text',
    [
      [/inspect/, 'sha256:2'],
      [/getconf/, 'glibc 2.36'],
    ],
    {},
    'ok',
  ],
  ['sorts text', [[/getconf/, '']], { collation: null }, 'ok'],
  [
    'sorts text',
    [
      [/inspect/, 'sha256:2'],
      [/getconf/, ''],
    ],
    { collation: 'none' },
    'ok',
  ],
  [
    'sorts text',
    [
      [/inspect/, 'sha256:2'],
      [/getconf/, 'glibc 2.36'],
    ],
    { collation: 'none' },
    'the indexes of the snapshot are made by a C library without a version, and the image has version 2.36 of the C library: they would miss rows',
  ],
  [
    'sorts text',
    [
      [/inspect/, 'sha256:2'],
      [/getconf/, 'glibc 2.41'],
    ],
    {},
    'the indexes of the snapshot are made by version 2.36 of the C library, and the image has version 2.41 of the C library: they would miss rows',
  ],
  [
    'there is room',
    [[/room_for_copy/, '1000']],
    {},
    'it takes 1.6 KiB, and 1000 B are free on the file system of /data/state-db',
  ],
  // A twentieth more than 1536 bytes, and two pieces of 20.
  [
    'there is room',
    [[/room_for_copy/, '1652']],
    {},
    'it takes 1.6 KiB, and 1.6 KiB are free on the file system of /data/state-db',
  ],
  ['there is room', [[/room_for_copy/, '1653']], {}, 'ok'],
  [
    'can be downloaded',
    [[/probe/, 'HTTP/1.1 404 Not Found\r\n\r\n']],
    {},
    'http://files/a/piece-000000.tar.zst answers HTTP 404; http://files/a/piece-000001.tar.zst answers HTTP 404',
  ],
  [
    'can be downloaded',
    [[/probe/, 'HTTP/1.1 206 Partial\r\ncontent-range: bytes 0-0/20\r\n\r\nx']],
    {},
    'http://files/a/piece-000000.tar.zst has 20 bytes, and the manifest says 10',
  ],
])('%s: %j, %j', async (word, answers, changed, words) => {
  expect(await said(word, answers, changed)).toBe(words);
});

test('an image that is not there yet is asked when it is', async () => {
  const resources = await physicalSnapshot.resources(await physicalContext());
  const check = resources.find(({ name }) => name.includes('sorts text'))?.check;
  const verdict = await check?.(
    fakeHost([], { $: shell(async () => new Output(1, Buffer.alloc(0), 'no such image')) }),
  );
  expect(verdict).toMatchObject({ is: 'unknown', until: expect.stringMatching(/^image .* is there$/) });
});

test('the hint about another C library has the image by which it is pulled; an id pulls nothing', async () => {
  const hint = async (image: string) => {
    const resources = await physicalSnapshot.resources(await physicalContext({ image }));
    return resources.find(({ name }) => name.includes('sorts text'))?.hint;
  };
  expect(await hint('postgres@sha256:1')).toMatch(
    /^name the image that the snapshot was made with, postgres@sha256:1 \(images\.database\), or/,
  );
  expect(await hint('sha256:1')).toMatch(
    /^name the image that the snapshot was made with by its digest \(images\.database\), or/,
  );
});

test('a database that is there is left alone, and nothing is asked or fetched', async () => {
  const host = fakeHost([], { stat: async () => rootsFile });
  for (const resource of await physicalSnapshot.resources(await physicalContext()))
    expect([resource.name, (await resource.check(host)).is]).toEqual([resource.name, 'ok']);
});

test('without a physical snapshot there is nothing to do', async () => {
  expect(await physicalSnapshot.resources(await contextOf({}))).toEqual([]);
});

test('the script has the pieces, and no password', async () => {
  const sent: string[] = [];
  const run = shell(async (_, { stdin }) => {
    sent.push(String(stdin));
    return new Output(0, Buffer.alloc(0), '');
  });
  const resources = await physicalSnapshot.resources(await physicalContext());
  await resources
    .at(-1)
    ?.work?.(fakeHost([[/./, '']], { run }))
    .catch(() => {});
  expect(sent[0]).toContain(`piece-000001.tar.zst ${'2'.repeat(64)} 20 512 base/1/2 512 100 - 0`);
  expect(sent[0]).not.toContain('state.Pw~1');
});

test('data that no snapshot made is not started from, and the hint says how to', async () => {
  const [resource] = await snapshot.resources(await physicalContext());
  const host = fakeHost([], {
    sql: async () => ({ ok: true, rows: [[null, '16400', '8192', '8192', '1']] }),
  });
  expect(await resource?.check(host)).toMatchObject({
    is: 'drift',
    note: 'the state database holds data that was not restored by this tool, the prover database holds data that was not restored by this tool',
  });
  expect(resource?.hint).toContain('is put into an empty data directory only');
});
