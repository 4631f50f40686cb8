import { expect, test } from 'vitest';
import takeSnapshot from '../../../roles/take-snapshot.ts';
import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { Problem } from '../../engine/problem/problem.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';

const [state, prover] = ['testnet_state_db.sql.tar.gz', 'testnet_prover_db.sql.tar.gz'] as const;
const manifest = JSON.stringify({
  network: 'test',
  date: '2024-06-01',
  taken_at: '2024-06-01T10:00:00Z',
  block: 12,
  hash: `0x${'e'.repeat(64)}`,
  state: { file: state, sha256: '1'.repeat(64), bytes: 10 },
  prover: { file: prover, sha256: '2'.repeat(64), bytes: 20 },
});

const resources = async () => takeSnapshot.resources({ ...(await contextOf({})), given: { to: '/data/s' } });

/** What the check says about a folder with these files, by their sizes. */
async function judged(
  files: Readonly<Record<string, number>>,
  text?: string,
  type: 'directory' | 'file' = 'directory',
) {
  const resource = (await resources()).at(-1);
  const verdict = await resource?.check(
    fakeHost([[/^ls /, Object.keys(files).join('\n')]], {
      stat: async (path) => {
        if (path === '/data/s') return { ...rootsFile, type };
        const size = files[path.slice('/data/s/'.length)];
        return size === undefined ? undefined : { ...rootsFile, size };
      },
      read: async () => (text === undefined ? undefined : Buffer.from(text)),
    }),
  );
  if (verdict?.is !== 'drift') return verdict?.is;
  return verdict.change instanceof Problem ? verdict.change.message : 'absent';
}

const whole = { [state]: 10, [prover]: 20, 'manifest.json': 1 };

test('the snapshot is there when manifest and both archives are', async () => {
  expect(await judged(whole, manifest)).toBe('ok');
  expect(await judged({})).toBe('absent');
  expect(await judged({ 'lost+found': 1 })).toBe('absent');
});

test('an interrupted one is made again, and files of others are never taken for it', async () => {
  expect(await judged({ '.part': 1, [state]: 10 })).toBe('absent');
  expect(await judged({ [state]: 10 })).toBe(`/data/s holds ${state}, which is not of a snapshot`);
  expect(await judged({ '.part': 1, mine: 1 })).toBe('/data/s holds mine, which is not of a snapshot');
});

test('what only looks like a snapshot is refused', async () => {
  expect(await judged({}, undefined, 'file')).toBe('/data/s is no folder');
  expect(await judged(whole, '{')).toBe('/data/s/manifest.json is not a manifest');
  expect(await judged({ ...whole, [state]: 9 }, manifest)).toBe(
    'the archives in /data/s are not those of their manifest',
  );
});

test.each([
  ['all:/data/s', '--to all:/data/s is on all, and this run is on db-1'],
  ['rpc-1:/data/s', '--to rpc-1:/data/s is on rpc-1, and this run is on db-1'],
])('--to names one host: %s on db-1', async (to, words) => {
  await expect(async () =>
    takeSnapshot.resources({ ...(await contextOf({})), given: { to } }),
  ).rejects.toThrow(words);
});

test('a folder without a host is on the Database+Sync server, whatever --limit says', async () => {
  const context = await contextOf({ group: 'rpc' });
  await expect(async () => takeSnapshot.resources({ ...context, given: { to: '/data/s' } })).rejects.toThrow(
    '--to /data/s is on db-1, and this run is on rpc-1',
  );
});

test('the password is in a file of root alone, and not in the script', async () => {
  const [, passwords, taken] = await resources();
  const verdict = await passwords?.check(fakeHost([]));
  expect(JSON.stringify(verdict)).not.toContain('state.Pw~1');
  expect(verdict).toMatchObject({ change: [{ secret: true, attributes: { mode: 0o600 } }] });
  const sent: string[] = [];
  const run = shell(async (_, { stdin }) => {
    sent.push(String(stdin));
    return new Output(0, Buffer.alloc(0), '');
  });
  await taken?.work?.(fakeHost([[/./, '']], { run })).catch(() => {});
  expect(sent[0]).toContain('FOLDER=/data/s');
  expect(sent[0]).not.toContain('state.Pw~1');
});
