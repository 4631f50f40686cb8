import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../lib/engine/host/testing/local-connection.ts';
import { fakeHost } from '../lib/engine/resource/testing/fake-host.ts';
import { allSchedules, resourcesOf } from '../test/kinds/schedules.ts';

/** How many calls of `schedule(` there are in roles and in the rooms of the node. */
function callsInSources(): number {
  const root = new URL('../', import.meta.url);
  const files = ['roles', 'lib/node'].flatMap((folder) =>
    readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  );
  const sources = files.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const calls = (name: string) => readFileSync(new URL(name, root), 'utf8').match(/\bschedule\(/g) ?? [];
  return sources.flatMap(calls).length;
}

// The score is that of what systemd takes from the command. What the command asks Docker or systemd
// to do runs outside of it.
test.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)(
  'every schedule runs in a sandbox that systemd-analyze security judges with 3.0 at most',
  async () => {
    const schedules = await allSchedules();
    expect(schedules.size).toBe(callsInSources());
    const folder = temporaryDirectory();
    const files: string[] = [];
    for (const [name, schedule] of schedules) {
      const verdict = await schedule.check(fakeHost([]));
      const texts = verdict.is === 'drift' ? verdict.differences.map(({ wanted }) => String(wanted)) : [];
      const file = join(folder, `${name}.service`);
      writeFileSync(file, texts.find((text) => text.includes('ExecStart=')) ?? '');
      files.push(file);
    }
    for (const file of files) {
      const words = ['security', '--offline=yes', '--threshold=30', '--no-pager', file];
      const said = spawnSync('systemd-analyze', words, { encoding: 'utf8' });
      expect(said.status, `${said.stdout.trim().split('\n').at(-1)}${said.stderr}`).toBe(0);
    }
  },
);

const page = (name: string) => readFileSync(new URL(`../docs/${name}.md`, import.meta.url), 'utf8');

test('the page about hosts has a row for every schedule', async () => {
  const rows = [...page('on-hosts').matchAll(/^\| `(rpc-node-[\w-]+)`/gm)].map(([, name]) => name ?? '');
  const names = [...(await allSchedules()).keys()];
  const missing = names.filter(
    (name) => !rows.some((row) => (row.endsWith('-NAME') ? name.startsWith(row.slice(0, -4)) : row === name)),
  );
  expect(missing).toEqual([]);
});

test('the commands that end backups stop every schedule of a backup host', async () => {
  const stopped = /^for each in (.*); do systemctl disable --now rpc-node-\$each\.timer/m.exec(page('data'));
  const names = (await resourcesOf('backup', 'backup')).map(({ name }) => name);
  const schedules = names.flatMap((name) => /^schedule rpc-node-(.*)/.exec(name)?.[1] ?? []);
  // Every server looks at its disks.
  const ofBackups = schedules.filter((name) => name !== 'data-disks');
  expect(stopped?.[1]?.split(' ').sort()).toEqual(ofBackups.sort());
});
