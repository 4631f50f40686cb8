import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import role from '../../../roles/disk-alert.ts';
import { parseBlockDevices } from '../../engine/host/facts/block-devices.ts';
import { parseMounts } from '../../engine/host/facts/mounts.ts';
import type { Reader } from '../../engine/host/host.ts';
import { onFullDisk } from '../../engine/host/testing/full-disk.ts';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { watchedFolders } from '../variables/data-folders.ts';
import { mountOf } from './beneath.ts';
import { diskAlertFault, diskAlertSettings } from './disk-alert.ts';

const script = fileURLToPath(new URL('../../../templates/host/disk-alert.sh', import.meta.url));

interface Message {
  readonly text: string;
  readonly mount: string;
  readonly status: string;
  readonly used_percent: number;
}

let folder: string;
let server: Server;
let webhook: string;
let answer = 200;
const messages: Message[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      if (answer === 200) messages.push(JSON.parse(body) as Message);
      response.writeHead(answer).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/alert?token="a\\b"`;
});

afterAll(() => {
  server.close();
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'disk-alert-'));
  messages.length = 0;
  answer = 200;
  await program('curl', curl);
  return () => rm(folder, { recursive: true });
});

/** The words that the script uses of curl, for machines that have none. */
const curl = `#!/bin/sh
PATH=\${PATH#*:}
if command -v curl >/dev/null; then exec curl "$@"; fi
exec "${process.execPath}" -e '
  const { argv } = process;
  const body = require("fs").readFileSync(0);
  const config = require("fs").readFileSync(argv[argv.indexOf("--config") + 1], "utf8");
  fetch(JSON.parse(config.slice("url = ".length)), { method: "POST", body }).then(({ ok }) => process.exit(ok ? 0 : 22), () => process.exit(7));
' -- "$@"
`;

async function program(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text);
  await chmod(join(folder, name), 0o755);
}

/**
 * Runs the script once, on file systems of this use.
 *
 * @param lines what df prints for other paths
 */
async function run(
  use: Readonly<Record<string, number>>,
  {
    paths = Object.keys(use),
    url = webhook,
    devices = {} as Readonly<Record<string, string>>,
    lines = {} as Readonly<Record<string, string>>,
    full = false,
  } = {},
): Promise<{ code: number; said: string[] }> {
  const ofUse = Object.entries(use).map(
    ([mount, percent]) =>
      [mount, `${devices[mount] ?? `/dev${mount}`}  9 9 9  ${percent}% ${mount}`] as const,
  );
  const cases = [...ofUse, ...Object.entries(lines)]
    .map(([path, line]) => `'${path}') echo '${line}';;`)
    .join(' ');
  await program(
    'df',
    `#!/bin/sh\necho 'Filesystem 1024-blocks Used Available Capacity Mounted on'\ncase $2 in ${cases} *) exit 1;; esac\n`,
  );
  const wanted = { warn_percent: 85, clear_percent: 80, every_seconds: 60, ...(url ? { webhook: url } : {}) };
  const settings = diskAlertSettings(paths, wanted).text.replace(
    '/var/lib/rpc-node/disk-alert',
    join(folder, 'state'),
  );
  await writeFile(join(folder, 'settings'), settings);
  const child = spawn('sh', [...(full ? [...onFullDisk, 'sh'] : []), script, join(folder, 'settings')], {
    env: { PATH: `${folder}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', full ? 'ignore' : 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, said: out.split('\n').filter((line) => line !== '') };
}

function posted(): string[] {
  return messages.splice(0).map(({ status, mount, used_percent }) => `${status} ${mount} ${used_percent}`);
}

test('one message when it crosses, one when it clears, none in between', async () => {
  const seen: string[][] = [];
  for (const percent of [50, 84, 85, 97, 82, 80, 79, 84, 85]) {
    expect((await run({ '/': percent })).code).toBe(0);
    seen.push(posted());
  }
  expect(seen).toEqual([[], [], ['alert / 85'], [], [], [], ['clear / 79'], [], ['alert / 85']]);
});

test('a disk that is full at once is reported once, too', async () => {
  for (const percent of [50, 100, 100])
    expect((await run({ '/': percent }, { full: percent === 100 })).code).toBe(0);
  expect(posted()).toEqual(['alert / 100']);
  await run({ '/': 70 });
  expect(posted()).toEqual(['clear / 70']);
});

test('the words say host, disk and use, and stand in the journal as well', async () => {
  const { said } = await run({ '/': 91 });
  expect(said).toHaveLength(1);
  expect(said[0]).toMatch(/^\S+: \/ is 91% full \(alert from 85%\)$/);
  expect(messages[0]?.text).toBe(said[0]);
});

test('a message that could not be posted is posted the next time', async () => {
  answer = 500;
  expect(await run({ '/': 90 })).toMatchObject({
    code: 1,
    said: [expect.stringMatching(/90% full/), expect.stringMatching(/could not be posted/)],
  });
  answer = 200;
  expect((await run({ '/': 91 })).code).toBe(0);
  expect(posted()).toEqual(['alert / 91']);
});

test('an alert that clears before it could be posted is not posted', async () => {
  answer = 500;
  await run({ '/': 90 });
  answer = 200;
  await run({ '/': 20 });
  expect(posted()).toEqual([]);
});

test('each file system is reported once, by itself', async () => {
  await run({ '/': 90, '/tmp': 10 }, { paths: ['/', '/tmp', '/'] });
  expect(posted()).toEqual(['alert / 90']);
  await run({ '/': 90, '/tmp': 99 });
  expect(posted()).toEqual(['alert /tmp 99']);
  expect(await readdir(join(folder, 'state'))).toContain('%2Ftmp.level');
});

test('a disk that is mounted twice is reported once', async () => {
  await run({ '/': 90, '/tmp': 90 }, { devices: { '/': '/dev/sda1', '/tmp': '/dev/sda1' } });
  expect(posted()).toEqual(['alert / 90']);
});

/** The host whose databases are on two disks of their own. */
const ofHost = (name: string) =>
  readFileSync(new URL(`../../../test/hosts/mount-each-database/${name}`, import.meta.url), 'utf8');
const mounts = parseMounts(ofHost('mounts'));

test('mount-each-database: the disk of each database is watched, and each disk is reported once', async () => {
  const { host, vars } = await contextOf({ group: 'database' });
  const watched = watchedFolders(host.groups, vars);
  const on = (path: string) => mountOf(path, mounts)?.target ?? '';
  expect(watched.map(on)).toEqual(['/', '/', '/data/state-db', '/data/pool-db']);
  // The folders are made here, and df answers as that host's mounts are.
  const use = { '/': 91, '/data/state-db': 97, '/data/pool-db': 40 } as Readonly<Record<string, number>>;
  const here = (path: string) => join(folder, 'host', path);
  await Promise.all(watched.map((path) => mkdir(here(path), { recursive: true })));
  const lines = Object.fromEntries(
    watched.map((path) => {
      const { source = '', target = '' } = mountOf(path, mounts) ?? {};
      return [here(path), `${source} 9 9 9 ${use[target]}% ${target}`];
    }),
  );
  expect((await run({}, { paths: watched.map(here), lines })).code).toBe(0);
  expect(posted()).toEqual(['alert / 91', 'alert /data/state-db 97']);
});

test.each([
  ['database', '/ /data /data/state-db /data/pool-db /var/lib/docker'],
  ['rpc', '/ /data /data/pool-db /var/lib/docker'],
  ['replica', '/ /data /data/state-db /var/lib/docker'],
  ['backup', '/ /data /data/backup /var/lib/docker'],
])('the role watches the folders of %s', async (group, paths) => {
  const facts = { mounts, blockDevices: parseBlockDevices(ofHost('block-devices')) };
  const context = await contextOf({ facts });
  const resources = await role.resources({ ...context, host: { ...context.host, groups: [group] } });
  const verdict = await resources
    .find(({ name }) => name === 'file /etc/rpc-node/disk-alert.conf')
    ?.check(fakeHost([]));
  const differences = verdict?.is === 'drift' ? verdict.differences : [];
  const { wanted = '' } = differences.find(({ what }) => what === 'content') ?? {};
  expect(/^PATHS='?(.*?)'?$/m.exec(wanted)?.[1]).toBe(paths);
});

test('a folder that is not there yet is looked up where it will be', async () => {
  await run({ '/': 90 }, { paths: ['/nowhere/at/all'] });
  expect(posted()).toEqual(['alert / 90']);
});

test('without a webhook the journal gets the message', async () => {
  const { code, said } = await run({ '/': 90 }, { url: '' });
  expect(code).toBe(0);
  expect(said).toHaveLength(1);
  expect((await run({ '/': 90 }, { url: '' })).said).toEqual([]);
});

test('a disk of unknown use is reported', async () => {
  expect(await run({}, { paths: ['/'] })).toMatchObject({ code: 1, said: ['cannot read the use of /'] });
});

test('the address of the webhook is shown nowhere', () => {
  const { text, mask, holdsSecrets } = diskAlertSettings(['/'], {
    warn_percent: 85,
    clear_percent: 80,
    every_seconds: 60,
    webhook: 'https://chat.example/T0K3N',
  });
  expect(holdsSecrets).toBe(true);
  expect(text).toContain('T0K3N');
  expect(mask(text)).not.toContain('T0K3N');
});

test.each([
  [
    [
      'the message on / could not be posted; it is tried again next time',
      'h: /data is 90% full (alert from 85%)',
    ],
    'the message on / could not be posted; it is tried again next time',
  ],
  [['sh: 3: cannot open /etc/rpc-node/disk-alert.conf'], 'sh: 3: cannot open /etc/rpc-node/disk-alert.conf'],
  [[], 'its journal is empty'],
])(
  'the reason why the last check of the disks failed is its last words about a failure: %j',
  async (lines, words) => {
    const host = fakeHost([[/^journalctl /, lines.map((line) => `${line}\n`).join('')]]);
    expect(
      await diskAlertFault({ ...host, unit: async () => ({ active: 'failed' }) } as unknown as Reader),
    ).toBe(words);
    expect(
      await diskAlertFault({ ...host, unit: async () => ({ active: 'inactive' }) } as unknown as Reader),
    ).toBe(undefined);
  },
);
