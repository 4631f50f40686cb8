import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { ok } from '../../engine/resource/resource.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import type { Variables } from '../variables/variables.ts';
import { restoreTool } from './restore-tool.ts';

const fromSource = {
  node_binary: '/app/node',
  paths: { data: '/data' },
  network: { kind: 'test' },
  snapshot: {
    restore_with: 'source',
    source: { repository: 'https://git.example/node', ref: 'v1', go_version: '1.21' },
  },
} as unknown as Variables;

test('a Go that is too old is reported with both versions, and with what to do', async () => {
  const isNewEnough = restoreTool(fromSource, '/x').resources.find(
    ({ name }) => name === 'Go is 1.21 or later',
  );
  if (!isNewEnough) throw new Error('it is missing');
  await expect(
    applyDrift(fakeHost([[/go version/, 'go version go1.19.8 linux/amd64\n']]), isNewEnough),
  ).rejects.toMatchObject({
    message: 'Go is 1.21 or later: Go 1.19.8 is installed, and the restore tool needs 1.21',
    hint: 'install Go 1.21 or later in /usr/local/go (docs/deploy.md), or set snapshot.restore_with: image',
  });
});

test.each([
  [undefined, 4],
  [1, 1],
  [16, 16],
])('pg_restore needs no tool; with restore_jobs %s it restores by %i jobs', (restore_jobs, jobs) => {
  const vars = { snapshot: { restore_with: 'pg_restore', restore_jobs } } as unknown as Variables;
  expect(restoreTool(vars, '/x')).toEqual({
    resources: [],
    settings: { RESTORE_WITH: 'pg_restore', JOBS: jobs },
  });
});

test('a tool from another repository is built again', async () => {
  const built = restoreTool(fromSource, '/x').resources.find(
    ({ name }) => name === 'restore tool is built from v1',
  );
  const hostWith = (url: string) =>
    fakeHost([[/./, { exitCode: 1 }]], {
      stat: async () => ({ type: 'file', mode: 0o755, owner: 'root', group: 'root', size: 1 }) as never,
      read: async () =>
        Buffer.from(`[core]\n\tbare = false\n[remote "origin"]\n\turl = ${url}\n\tfetch = +refs\n`),
    });
  expect(await built?.check(hostWith('https://git.example/node'))).toEqual(ok);
  expect(await built?.check(hostWith('"https://git.example/a#b"'))).toEqual(ok);
  expect(await built?.check(hostWith('https://git.example/fork'))).toMatchObject({
    differences: [{ was: 'https://git.example/fork', wanted: 'https://git.example/node' }],
  });
});

const buildScript = fileURLToPath(new URL('../../../templates/host/build-restore-tool.sh', import.meta.url));
const PATH = `/usr/local/go/bin:${process.env.PATH}`;
const canBuild =
  process.getuid?.() === 0 &&
  ['go version', 'make --version', 'git --version'].every(
    (command) => spawnSync('sh', ['-c', command], { env: { PATH } }).status === 0,
  );

// The script runs as root on a server. Where Go is missing, the lab's deploy builds.
test.skipIf(!canBuild)(
  "the node's source is built by the Go that is here, with its version in it",
  () => {
    const folder = temporaryDirectory();
    const repository = sourceRepository(join(folder, 'repository'));
    const TOOL = join(folder, 'tool/zkevm-node');
    const settings = { REPOSITORY: repository, REF: 'v3.1.0', SOURCE: join(folder, 'source'), TOOL };
    execFileSync('sh', [buildScript], { stdio: 'pipe', env: { ...process.env, ...settings } });
    expect(execFileSync(TOOL, { encoding: 'utf8' })).toBe('built from v3.1.0');
  },
  180_000,
);

/**
 * A small program with what makes the node hard to build: the stand-in's Makefile, and the package
 * that the linker refuses.
 */
function sourceRepository(folder: string): string {
  const standIn = fileURLToPath(new URL('../../../lab/standins/node', import.meta.url));
  for (const part of ['Makefile', 'memsize'])
    cpSync(join(standIn, part), join(folder, part), { recursive: true });
  writeFileSync(join(folder, 'go.mod'), 'module rpc-lab/node\n\ngo 1.19\n');
  writeFileSync(
    join(folder, 'main.go'),
    `package main
import (
	"os"
	_ "rpc-lab/node/memsize"
)
var builtFrom = "no repository"
func main() { os.Stdout.WriteString("built from " + builtFrom) }
`,
  );
  const git = (...words: string[]) =>
    execFileSync('git', ['-C', folder, '-c', 'user.name=test', '-c', 'user.email=test@localhost', ...words]);
  git('init', '--quiet');
  git('add', '--all');
  git('commit', '--quiet', '--message=Node');
  git('tag', '--annotate', '--message=Version', 'v3.1.0');
  return folder;
}
