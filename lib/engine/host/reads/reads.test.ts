import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createReader } from '../reader.ts';
import { connectLocally, standInFor, temporaryDirectory } from '../testing/local-connection.ts';

async function open() {
  const connection = await connectLocally();
  return { connection, host: createReader(connection, 'here') };
}

const awkward = [
  'plain',
  'with space',
  "it's",
  'a|b',
  'a:b',
  '-n',
  'back\\slash',
  '\u00e9\u{1f600}',
  '$x',
  '*',
];

test('stat: files, directories, links, other types and missing paths, in one exec', async () => {
  const { connection, host } = await open();
  const root = temporaryDirectory();
  for (const name of awkward) writeFileSync(join(root, name), name);
  chmodSync(join(root, 'plain'), 0o4751);
  utimesSync(join(root, 'plain'), 1_700_000_000, 1_700_000_000.25);
  mkdirSync(join(root, 'dir'), { mode: 0o700 });
  symlinkSync('/etc/no such | file', join(root, 'link'));
  symlinkSync('dir', join(root, 'linked'));

  const stat = (name: string) => host.stat(join(root, name));
  const [plain, dir, link, linked, inside, nothing, below, device, ...others] = await Promise.all([
    stat('plain'),
    stat('dir'),
    stat('link'),
    stat('linked'),
    host.stat(`${root}/linked/.`),
    stat('nothing'),
    stat('plain/below'),
    host.stat('/dev/null'),
    ...awkward.map(stat),
  ]);
  expect(plain).toEqual({
    type: 'file',
    mode: 0o4751,
    owner: 'root',
    group: 'root',
    uid: 0,
    gid: 0,
    size: 5,
    modified: 1_700_000_000.25,
  });
  expect(dir).toMatchObject({ type: 'directory', mode: 0o700 });
  expect(link).toMatchObject({ type: 'link', target: '/etc/no such | file' });
  expect(linked).toMatchObject({ type: 'link', target: 'dir' });
  expect(inside?.type).toBe('directory');
  expect(nothing).toBeUndefined();
  expect(below).toBeUndefined();
  expect(device?.type).toBe('other');
  expect(others.map((other) => other?.size)).toEqual(awkward.map((name) => Buffer.byteLength(name)));
  expect(connection.execs).toBe(1);
});

test('a path that is not absolute or has a line break is an error of its caller alone', async () => {
  const { host } = await open();
  const [relative, broken, fine] = await Promise.allSettled([
    host.stat('etc'),
    host.read('/etc/pass\nwd'),
    host.stat('/etc'),
  ]);
  expect([relative.status, broken.status, fine.status]).toEqual(['rejected', 'rejected', 'fulfilled']);
});

test('a failed check is an error, not an absence', async () => {
  standInFor('stat', `echo "stat: cannot statx '/mnt/stale': Stale file handle" >&2; exit 1`);
  const { host } = await open();
  const [stale, absent] = await Promise.allSettled([host.stat('/mnt/stale'), host.stat('/mnt/other')]);
  expect(stale.status === 'rejected' && String(stale.reason)).toMatch(/Stale file handle/);
  expect(absent).toEqual({ status: 'fulfilled', value: undefined });
});

test('a host on which files cannot be checked is an error, and not an absence of files', async () => {
  standInFor('sha256sum', 'echo "libcrypto.so.3: cannot open" >&2; exit 127');
  await expect((await open()).host.sha256('/etc/passwd')).rejects.toThrow(
    'sha256sum: libcrypto.so.3: cannot open',
  );
});

test('sha256: a pipe has none, and nobody waits for its writer', async () => {
  const root = temporaryDirectory();
  execFileSync('mkfifo', [join(root, 'pipe')]);
  writeFileSync(join(root, 'file'), 'x');
  const { host } = await open();
  const [pipe, file] = await Promise.all([host.sha256(join(root, 'pipe')), host.sha256(join(root, 'file'))]);
  expect(pipe).toBeUndefined();
  expect(file).toBe(createHash('sha256').update('x').digest('hex'));
});

test('sha256 and read: content of files, also through links; undefined for a missing file', async () => {
  const { connection, host } = await open();
  const root = temporaryDirectory();
  const contents = new Map(awkward.map((name, index) => [name, Buffer.from([index, 0, 255, 10, 10])]));
  contents.set('empty', Buffer.alloc(0));
  for (const [name, content] of contents) writeFileSync(join(root, name), content);
  symlinkSync('plain', join(root, 'link'));
  const names = [...contents.keys()];

  const [hashes, reads, linked, linkedHash, ...none] = await Promise.all([
    Promise.all(names.map((name) => host.sha256(join(root, name)))),
    Promise.all(names.map((name) => host.read(join(root, name)))),
    host.read(join(root, 'link')),
    host.sha256(join(root, 'link')),
    host.read(root),
    host.read(join(root, 'nothing')),
    host.sha256(root),
    host.sha256(join(root, 'nothing')),
  ]);
  for (const [index, content] of [...contents.values()].entries()) {
    expect(reads[index]?.equals(content)).toBe(true);
    expect(hashes[index]).toBe(createHash('sha256').update(content).digest('hex'));
  }
  expect(linked).toEqual(contents.get('plain'));
  expect(linkedHash).toBe(hashes[0]);
  expect(none).toEqual([undefined, undefined, undefined, undefined]);
  expect(connection.execs).toBe(1);
});

test('compare: equal, also through links, or the actual content; undefined for a missing or too large file', async () => {
  const { connection, host } = await open();
  const root = temporaryDirectory();
  const hashOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
  const contents = new Map(awkward.map((name, index) => [name, Buffer.from([index, 0, 255, 10, 10])]));
  contents.set('empty', Buffer.alloc(0));
  for (const [name, content] of contents) writeFileSync(join(root, name), content);
  symlinkSync('plain', join(root, 'link'));
  const names = [...contents.keys()];
  const other = hashOf(Buffer.from('other'));
  const plain = hashOf(contents.get('plain') ?? Buffer.alloc(0));
  const nothing = { same: false, content: undefined };

  const [same, differing, linked, ...none] = await Promise.all([
    Promise.all([...contents].map(([name, content]) => host.compare(join(root, name), hashOf(content), 0))),
    Promise.all(names.map((name) => host.compare(join(root, name), other, 5))),
    host.compare(join(root, 'link'), plain, 0),
    host.compare(join(root, 'plain'), other, 4),
    host.compare(join(root, 'nothing'), other, 5),
    host.compare(root, other, 1e6),
  ]);
  expect(same).toEqual(names.map(() => ({ same: true })));
  expect(differing).toEqual([...contents.values()].map((content) => ({ same: false, content })));
  expect(linked).toEqual({ same: true });
  expect(none).toEqual([nothing, nothing, nothing]);
  expect(connection.execs).toBe(1);
});

test('compare: all files equal, or all missing', async () => {
  const { host } = await open();
  const root = temporaryDirectory();
  writeFileSync(join(root, 'empty'), '');
  const empty = createHash('sha256').digest('hex');
  expect(await host.compare(join(root, 'empty'), empty, 0)).toEqual({ same: true });
  expect(await host.compare(join(root, 'none'), empty, 0)).toEqual({ same: false, content: undefined });
});

test('compare: a host that cannot hash is reported as such, not as a difference', async () => {
  standInFor('sha256sum', 'echo "libcrypto.so.3: cannot open" >&2; exit 127');
  await expect((await open()).host.compare('/etc/passwd', '', 0)).rejects.toThrow(
    'sha256sum: libcrypto.so.3: cannot',
  );
});

test('compare: files that change during the read are read one by one', async () => {
  const root = temporaryDirectory();
  for (const name of ['a', 'b']) writeFileSync(join(root, name), name);
  standInFor('wc', `PATH=\${PATH#*:}; wc "$@"; case "$*" in *${root}/a*) echo more >> ${root}/a;; esac`);
  const { connection, host } = await open();
  const compared = await Promise.all(['a', 'b'].map((name) => host.compare(join(root, name), '', 10)));
  expect(compared.map((one) => !one.same && one.content?.toString())).toEqual(['amore\n', 'b']);
  expect(connection.execs).toBe(2);
});

test('read: only missing files, and files of the kernel', async () => {
  const { host } = await open();
  expect(await host.read('/nothing')).toBeUndefined();
  const [version, nothing] = await Promise.all([host.read('/proc/version'), host.read('/nothing')]);
  expect(version?.toString()).toMatch(/^Linux/);
  expect(nothing).toBeUndefined();
});

test('read: files that change during the read are read one by one', async () => {
  const root = temporaryDirectory();
  for (const name of ['a', 'b']) writeFileSync(join(root, name), name);
  // The size from wc is out of date before cat starts.
  standInFor('wc', `PATH=\${PATH#*:}; wc "$@"; case "$*" in *${root}/a*) echo more >> ${root}/a;; esac`);
  const { connection, host } = await open();
  const [a, b] = await Promise.all([host.read(join(root, 'a')), host.read(join(root, 'b'))]);
  expect([a?.toString(), b?.toString()]).toEqual(['amore\n', 'b']);
  expect(connection.execs).toBe(2);
});

test('package: installed, removed but configured, half configured, held, missing, of another architecture', async () => {
  standInFor(
    'dpkg-query',
    `cat <<'END'
curl amd64 ii  7.88.1-10
old amd64 rc  1.0
half amd64 iF  2.0
held amd64 hi  3:1.2
libc6 amd64 ii  2.36
libc6 i386 rc  2.30
END
echo "dpkg-query: no packages found matching nope" >&2
exit 1`,
  );
  const { connection, host } = await open();
  const names = ['curl', 'old', 'half', 'held', 'libc6', 'libc6:i386', 'nope'];
  const states = await Promise.all(names.map((name) => host.package(name)));
  const none = { installed: false, version: undefined };
  expect(states).toEqual([
    { installed: true, version: '7.88.1-10' },
    none,
    none,
    { installed: true, version: '3:1.2' },
    { installed: true, version: '2.36' },
    none,
    none,
  ]);
  expect(connection.execs).toBe(1);
  await expect(host.package('lib*')).rejects.toThrow(TypeError);
});

const shown = `Id=chrony.service
Names=chrony.service chronyd.service
LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled
ActiveEnterTimestamp=Fri 2025-11-21 08:36:01.250000 UTC
NeedDaemonReload=yes

Id=restore.service
Names=restore.service
LoadState=loaded
ActiveState=failed
SubState=failed
UnitFileState=transient
ActiveEnterTimestamp=
NeedDaemonReload=no`;

test('unit: running, failed, by an alias, unknown to systemd', async () => {
  standInFor('systemctl', `cat <<'END'\n${shown}\nEND`);
  const { connection, host } = await open();
  const [chrony, byAlias, restore, nothing] = await Promise.all([
    host.unit('chrony'),
    host.unit('chronyd.service'),
    host.unit('restore.service'),
    host.unit('nothing.timer'),
  ]);
  expect(chrony).toEqual({
    load: 'loaded',
    active: 'active',
    sub: 'running',
    enabled: 'enabled',
    activeSince: Date.UTC(2025, 10, 21, 8, 36, 1) / 1000 + 0.25,
    needsReload: true,
  });
  expect(byAlias).toEqual(chrony);
  expect(restore).toMatchObject({ active: 'failed', activeSince: 0, needsReload: false });
  expect(nothing).toMatchObject({ load: 'not-found', active: 'inactive', enabled: '' });
  await expect(host.unit('getty@.service')).rejects.toThrow(TypeError);
  expect(connection.execs).toBe(1);
});

test('unit: one that may end just after its start is looked at a second later, with the end of its journal', async () => {
  const record = (unit: string, type: string, state: string, since: string) =>
    `Id=${unit}.service\nType=${type}\nActiveState=${state}\nActiveEnterTimestamp=Fri ${since}.5 UTC\n`;
  const now = '$(date -u "+%F %T")';
  const looks = join(temporaryDirectory(), 'looks');
  standInFor('journalctl', '[ "$1" != --sync ] || exit; echo "$*"; echo "key=value"; echo; echo last');
  const shows = (
    ends: string,
  ) => `case "$*" in *InvocationID*) echo 4d2; exit;; esac; echo >>${looks}; state=active; [ "$(wc -l <${looks})" = 1 ] || state=${ends}
case $1 in is-active) [ $state = active ];; *) cat <<END
${record('old', 'simple', 'active', '2025-11-21 08:36:01')}
${record('notifies', 'notify', 'active', now)}
${record('new', 'simple', '$state', now).trimEnd()}
END
esac`;
  standInFor('systemctl', shows('failed'));
  const { host } = await open();
  const [old, notifies, ended] = await Promise.all([
    host.unit('old'),
    host.unit('notifies'),
    host.unit('new'),
  ]);
  expect(ended).toMatchObject({
    active: 'failed',
    lastWords: expect.stringMatching(/--unit=new.service\nkey=value\n\nlast$/),
  });
  for (const unit of [old, notifies]) expect(unit).not.toHaveProperty('lastWords');
  standInFor('systemctl', shows('active'));
  expect(await (await open()).host.unit('new')).not.toHaveProperty('lastWords');
});

test('unit: an older systemctl is queried without fractions of a second; without systemctl no unit exists', async () => {
  standInFor(
    'systemctl',
    `case "$*" in *--timestamp*) echo "unrecognized option" >&2; exit 1;; esac\ncat <<'END'\n${shown}\nEND`,
  );
  const { host } = await open();
  expect((await host.unit('chrony')).active).toBe('active');
  standInFor('systemctl', 'exit 127');
  expect((await (await open()).host.unit('chrony')).load).toBe('not-found');
});

test('unit: start time with and without fractions', async () => {
  const times = ['Fri 2025-11-21 08:36:01 UTC', 'Fri 2025-11-21 08:36:01.123456 UTC', 'n/a'];
  const records = times.map((time, at) => `Id=${at}.service\nActiveEnterTimestamp=${time}\n`);
  standInFor('systemctl', `cat <<'END'\n${records.join('\n')}\nEND`);
  const { host } = await open();
  const units = await Promise.all(times.map((_, at) => host.unit(String(at))));
  const second = Date.UTC(2025, 10, 21, 8, 36, 1) / 1000;
  expect(units.map(({ activeSince }) => activeSince)).toEqual([second, second + 0.123456, 0]);
});

test('container: running, ended, missing, and no engine', async () => {
  const document = {
    Id: 'f00d',
    Image: 'sha256:beef',
    Name: '/state-db',
    RestartCount: 2,
    State: {
      Running: true,
      Status: 'running',
      ExitCode: 0,
      StartedAt: '2025-11-21T08:00:00Z',
      Health: { Status: 'healthy' },
    },
    Config: { Image: 'postgres:15', Labels: { a: 'b' } },
    HostConfig: { CpuShares: 4096 },
  };
  const ended = {
    ...document,
    Id: 'beef',
    Name: '/sync',
    State: { Running: false, Status: 'exited', ExitCode: 1 },
  };
  standInFor(
    'docker',
    `cat <<'END'\n${JSON.stringify(document)}\n${JSON.stringify(ended)}\nEND\necho "No such container: nope" >&2; exit 1`,
  );
  const { connection, host } = await open();
  const [state, sync, nope] = await Promise.all([
    host.container('state-db'),
    host.container('sync'),
    host.container('nope'),
  ]);
  expect(state).toEqual({
    id: 'f00d',
    image: 'postgres:15',
    imageId: 'sha256:beef',
    running: true,
    status: 'running',
    health: 'healthy',
    exitCode: 0,
    restartCount: 2,
    startedAt: '2025-11-21T08:00:00Z',
    labels: { a: 'b' },
    cpuShares: 4096,
    raw: document,
  });
  expect(sync).toMatchObject({ running: false, exitCode: 1, health: undefined });
  expect(nope).toBeUndefined();
  expect(connection.execs).toBe(1);

  standInFor('docker', 'echo "Cannot connect to the Docker daemon" >&2; exit 1');
  expect(await (await open()).host.container('state-db')).toBeUndefined();
});

const target = { container: 'state-db', user: 'state', database: 'state' };

test('sql: rows, NULL, special characters, no rows, errors, each query by itself', async () => {
  // Answers like psql 15: COPY's text format, then the output of the \\echo lines.
  standInFor(
    'docker',
    `while IFS= read -r line; do
case "$line" in
  *'"rows"'*) printf '1\\\\ta\\\\\\\\tb\\n' | sed 's/\\\\t/\\t/; s/\\\\\\\\t/\\\\t/'; printf '\\\\N\\t\\n'; failed=false;;
  *'"none"'*) failed=false;;
  *'"bad"'*) failed=true;;
  '\\echo '*' :ERROR') set -- $line; echo "$2 $failed";;
  '\\echo :LAST_ERROR_MESSAGE') [ $failed = true ] && echo 'relation "bad" does not exist';;
  '\\echo '*) set -- $line; echo "$2";;
esac
done`,
  );
  const { connection, host } = await open();
  const [rows, none, bad] = await Promise.all([
    host.sql(target, 'SELECT * FROM "rows";'),
    host.sql(target, 'SELECT * FROM "none" -- a comment'),
    host.sql(target, 'SELECT * FROM "bad"'),
  ]);
  expect(rows).toEqual({
    ok: true,
    rows: [
      ['1', 'a\tb'],
      [null, ''],
    ],
  });
  expect(none).toEqual({ ok: true, rows: [] });
  expect(bad).toEqual({ ok: false, error: 'relation "bad" does not exist' });
  expect(connection.execs).toBe(1);
});

test('sql: without its container or server every query fails with the reason', async () => {
  standInFor('docker', 'cat >/dev/null; echo "Error: No such container: state-db" >&2; exit 1');
  const { host } = await open();
  expect(await Promise.all([host.sql(target, 'SELECT 1'), host.sql(target, 'SELECT 2')])).toEqual([
    { ok: false, error: 'Error: No such container: state-db' },
    { ok: false, error: 'Error: No such container: state-db' },
  ]);
  standInFor('docker', 'cat >/dev/null; exit 1');
  expect(await (await open()).host.sql(target, 'SELECT 1')).toEqual({
    ok: false,
    error: 'psql gave no answer',
  });
});
