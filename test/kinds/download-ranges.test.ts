import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { downloadScript } from '../../lib/engine/resource/download/download-script.ts';
import { formsOf } from '../faults/seed.ts';
import { installMissing } from '../install-missing.ts';
import { contentOf, startFaultyFileServer } from './faulty-file-server.ts';

/** Downloads by several connections, from a server on this machine. No lab is needed. */
const megabyte = 1024 * 1024;
const { content, hash } = contentOf(8 * megabyte + 4321);
const connections = 4;

let server: Awaited<ReturnType<typeof startFaultyFileServer>>;
let folder: string;
let path: string;
let part: string;
let started: ChildProcess[];

beforeAll(async () => {
  installMissing([['/usr/bin/curl', 'curl']]);
  server = await startFaultyFileServer();
});

afterAll(() => server.stop());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'download-ranges-'));
  mkdirSync(join(folder, 'data'));
  path = join(folder, 'data', 'archive');
  part = `${path}.part`;
  started = [];
});

afterEach(() => {
  for (const child of started) killGroup(child);
  rmSync(folder, { recursive: true, force: true });
});

interface Changes {
  readonly sha256?: string;
  readonly connections?: number;
  /** The whole address, if it is not the server's. */
  readonly url?: string;
  /** Words of the script that are too slow for a test, and their replacements. */
  readonly instead?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Its mounts are private, and are removed with it. */
  readonly alone?: boolean;
}

/** Starts the script in its own process group, like a unit. */
function begin(served: string, changes: Changes = {}): ChildProcess {
  const source = { url: changes.url ?? server.url(served), path, sha256: changes.sha256 ?? hash };
  let script = downloadScript(
    { ...source, connections: changes.connections ?? connections },
    join(folder, 'status'),
  );
  for (const [slow, quick] of Object.entries({ 'sleep "$pause"': 'sleep 0.1', ...changes.instead })) {
    expect(script).toContain(slow);
    script = script.replaceAll(slow, quick);
  }
  writeFileSync(join(folder, 'script'), script);
  const [program = '', ...words] = [
    ...(changes.alone ? ['unshare', '--mount'] : []),
    '/bin/sh',
    join(folder, 'script'),
  ];
  const child = spawn(program, words, {
    detached: true,
    cwd: folder,
    env: { ...process.env, ...changes.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  return child;
}

async function run(served: string, changes?: Changes): Promise<{ code: number | null; words: string }> {
  const child = begin(served, changes);
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, words: Buffer.concat(chunks).toString() };
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  process.kill(-pid, 'SIGKILL');
}

/** As after a power failure or `systemctl kill -s KILL`. */
async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.on('close', resolve));
  killGroup(child);
  await ended;
}

async function until(what: () => boolean): Promise<void> {
  for (let waited = 0; !what(); waited += 20) {
    if (waited > 20_000) throw new Error(`never came: ${what}`);
    await delay(20);
  }
}

function expectWhole(wanted = content): void {
  expect(readFileSync(path).equals(wanted)).toBe(true);
  expect(readdirSync(join(folder, 'data')).sort()).toEqual(['archive', 'archive.verified']);
  expect(readdirSync(folder).sort()).toEqual(['data', 'script']);
}

/** Bytes without holes. */
const heldOf = (file: string): number => statSync(file).blocks * 512;

/**
 * A run that is killed some time (milliseconds) after this many bytes were sent.
 *
 * @returns the bytes sent until then
 */
async function cutOff(served: string, bytes: number, changes?: Changes, pause = 1300): Promise<number> {
  const before = server.sent(served);
  const child = begin(served, changes);
  await until(() => server.sent(served) - before > bytes);
  await delay(pause);
  await kill(child);
  return server.sent(served) - before;
}

/** Slow enough to observe a run: the whole file takes these seconds. */
const inSeconds = (seconds: number): number => content.length / connections / seconds;

test('several connections fetch parts at the same time, and the complete file is verified', async () => {
  server.serve('/whole', { content, rate: inSeconds(4) });
  const child = begin('/whole');
  const ended = new Promise((resolve) => child.on('close', resolve));
  await until(() => existsSync(part) && statSync(part).size > 0.75 * content.length);
  expect(readFileSync(join(folder, 'status'), 'utf8')).toBe(`downloading ${content.length}\n`);
  // The length of the partial file does not measure progress: its last bytes arrive early. Its
  // blocks do.
  expect(heldOf(part)).toBeLessThan(0.75 * content.length);
  expect(await ended).toBe(0);
  expectWhole();
  expect(server.asked('/whole').filter(({ range }) => range).length).toBeGreaterThanOrEqual(connections - 1);
});

test('a killed download continues where it was, at any length of the partial file', async () => {
  server.serve('/killed', { content, etag: '"1"', rate: inSeconds(5) });
  const first = await cutOff('/killed', content.length / 4, {}, 2500);
  expect(statSync(part).size).toBeGreaterThan(heldOf(part));
  // Slow enough that sockets do not buffer much unread data.
  server.serve('/killed', { content, etag: '"1"', rate: inSeconds(4) });
  expect(await run('/killed', { connections: 8 })).toEqual({ code: 0, words: '' });
  expectWhole();
  // At most the ranges under way are fetched twice.
  expect(server.sent('/killed')).toBeLessThan(content.length + first);
  expect(server.sent('/killed') - first).toBeLessThan(content.length - first / 4);
});

test.each(formsOf([connections, 1]))(
  'a partial file is kept if the server does not show its version, by %i connections',
  async (count) => {
    const address = `/untold-${count}`;
    server.serve(address, { content, etag: '"1"', rate: inSeconds(5) });
    const first = await cutOff(address, content.length / 4, { connections: count }, 2500);
    server.serve(address, { content, etag: '"1"', failingHead: 503, rate: inSeconds(4) });
    expect(await run(address, { connections: count })).toEqual({ code: 0, words: '' });
    expectWhole();
    expect(server.sent(address) - first).toBeLessThan(0.95 * content.length);
  },
);

test('a complete partial file that was killed before verification is not fetched again', async () => {
  server.serve('/unverified', { content });
  const child = begin('/unverified', { instead: { 'sha256sum <"$1"': 'sleep 60 <"$1"' } });
  await until(
    () =>
      existsSync(join(folder, 'status')) && readFileSync(join(folder, 'status'), 'utf8') === 'verifying\n',
  );
  await kill(child);
  const asked = server.asked('/unverified').length;
  expect(await run('/unverified')).toEqual({ code: 0, words: '' });
  expectWhole();
  expect(server.asked('/unverified')).toHaveLength(asked);
});

test('a run that was killed right after the rename leaves nothing to the next one', async () => {
  server.serve('/named', { content });
  const child = begin('/named', { instead: { 'note() {': 'note() { sleep 60; ' } });
  await until(() => existsSync(path));
  await kill(child);
  writeFileSync(`${part}.got`, '');
  expect(await run('/named')).toEqual({ code: 0, words: '' });
  expectWhole();
});

test('a partial file of full length without its list of ranges is hashed, and fetched again if it is wrong', async () => {
  server.serve('/holes', { content, rate: inSeconds(5) });
  await cutOff('/holes', content.length / 4);
  rmSync(`${part}.got`);
  writeFileSync(part, Buffer.alloc(content.length));
  server.serve('/holes', { content });
  expect(await run('/holes')).toEqual({ code: 0, words: '' });
  expectWhole();
});

test('a partial file of full length that is only a hole, as after a power failure, is fetched again', async () => {
  server.serve('/hole', { content, rate: inSeconds(5) });
  await cutOff('/hole', content.length / 4);
  rmSync(part);
  rmSync(`${part}.got`);
  writeFileSync(part, '');
  truncateSync(part, content.length);
  expect(heldOf(part)).toBe(0);
  server.serve('/hole', { content });
  expect(await run('/hole')).toEqual({ code: 0, words: '' });
  expectWhole();
});

test.each([0, content.length])(
  'a list of ranges with pieces that a power failure lost does not report the file as corrupted: %i bytes remain, all of them a hole',
  async (left) => {
    const address = `/lost-${left}`;
    server.serve(address, { content, rate: inSeconds(5) });
    await cutOff(address, content.length / 4);
    truncateSync(part, 0);
    truncateSync(part, left);
    server.serve(address, { content });
    expect(await run(address)).toEqual({ code: 0, words: '' });
    expectWhole();
  },
);

test('a shorter partial file without a list of ranges is removed', async () => {
  server.serve('/noteless', { content, rate: inSeconds(5) });
  const first = await cutOff('/noteless', content.length / 4);
  rmSync(`${part}.got`);
  server.serve('/noteless', { content });
  expect(await run('/noteless')).toEqual({ code: 0, words: '' });
  expectWhole();
  expect(server.sent('/noteless') - first).toBeGreaterThanOrEqual(content.length);
});

test.each(['', 'junk', Buffer.alloc(200)])(
  'an unreadable list of ranges is removed with its partial file: %#',
  async (note) => {
    server.serve('/unreadable', { content, rate: inSeconds(5) });
    await cutOff('/unreadable', content.length / 4);
    writeFileSync(`${part}.got`, note);
    server.serve('/unreadable', { content });
    expect((await run('/unreadable')).code).toBe(0);
    expectWhole();
  },
);

test('a list of ranges without its partial file is removed', async () => {
  server.serve('/partless', { content, rate: inSeconds(5) });
  await cutOff('/partless', content.length / 4);
  rmSync(part);
  server.serve('/partless', { content });
  expect(await run('/partless')).toEqual({ code: 0, words: '' });
  expectWhole();
});

test('a server without ranges gets one connection for the whole file', async () => {
  server.serve('/no-ranges', { content, withoutRanges: true });
  expect((await run('/no-ranges')).code).toBe(0);
  expectWhole();
});

test('a server without ranges that closes the connection is asked for the whole file again', async () => {
  server.serve('/no-ranges-breaks', { content, withoutRanges: true, breaking: { times: 6, how: 'reset' } });
  expect((await run('/no-ranges-breaks')).code).toBe(0);
  expectWhole();
});

test.each(formsOf([connections, 1]))(
  'a server without ranges that always closes the connection is given up by %i connections',
  async (count) => {
    server.serve('/never', { content, withoutRanges: true, breaking: { times: 1e9, how: 'reset' } });
    const { code, words } = await run('/never', { connections: count });
    expect(code).toBe(1);
    const [, at] =
      new RegExp(
        `/never breaks off at (\\d+) of ${content.length} bytes, again and again, and its server sends it from the beginning only\n$`,
      ).exec(words) ?? [];
    expect(Number(at)).toBeGreaterThan(0);
  },
);

test('connections that are reset continue where they were', async () => {
  server.serve('/resets', { content, breaking: { times: 30, how: 'reset' } });
  expect((await run('/resets')).code).toBe(0);
  expectWhole();
  expect(server.sent('/resets')).toBeLessThan(2 * content.length);
});

test('a file that changed on the server is fetched from its beginning', async () => {
  server.serve('/changed', { content, etag: '"1"', rate: inSeconds(5) });
  const first = await cutOff('/changed', content.length / 4);
  const other = contentOf(content.length);
  server.serve('/changed', { content: other.content, etag: '"2"' });
  expect(await run('/changed', { sha256: other.hash })).toEqual({ code: 0, words: '' });
  expectWhole(other.content);
  // Once, and not again after a wrong SHA-256.
  expect(server.sent('/changed') - first).toBeLessThan(1.5 * content.length);
});

test.each(formsOf([404, 401, 403, 410]))('%i is reported at once', async (status) => {
  server.serve(`/${status}`, { content, failing: { status, times: 1e9 } });
  const { code, words } = await run(`/${status}`);
  expect(code).toBe(1);
  expect(words).toMatch(new RegExp(`^${server.url(`/${status}`)} answers ${status}\n$`));
  expect(server.asked(`/${status}`).length).toBeLessThanOrEqual(connections);
});

test('an address that looks like a reply of a server is not one', async () => {
  server.serve('/x?%20status=404', { content, failing: { status: 500, times: 2 } });
  expect((await run('/x?%20status=404')).code).toBe(0);
  expectWhole();
});

test.each(formsOf([429, 408, 500, 503]))('after %i it is requested again', async (status) => {
  server.serve(`/then-${status}`, { content, failing: { status, times: 3 } });
  expect((await run(`/then-${status}`)).code).toBe(0);
  expectWhole();
});

const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
const longAgo = new Date(0).toUTCString();
test.each(
  formsOf([connections, 1]).flatMap((count) =>
    formsOf(
      [
        ['a[$(touch ran)]', '2'],
        [inAnHour, '300'],
        [longAgo, '2'],
        ['17', '17'],
        ['1', '2'],
        ['86400', '300'],
        ['99999999999999999999', '300'],
      ],
      3,
    ).map(([header = '', pause = '']): [number, string, string] => [count, header, pause]),
  ),
)(
  'by %i connections: a busy server that answers Retry-After: %s is not contacted for %s s',
  async (count, header, pause) => {
    const address = `/busy-${count}-${encodeURIComponent(header)}`;
    server.serve(address, {
      content,
      // Each connection is told so four times.
      failing: { status: 429, times: 4 * count, headers: { 'retry-after': header } },
    });
    const noting = { 'sleep "$pause"': `echo "$pause" >>${join(folder, 'data', 'pauses')}` };
    expect((await run(address, { connections: count, instead: noting })).code).toBe(0);
    const pauses = readFileSync(join(folder, 'data', 'pauses'), 'utf8')
      .trim()
      .split('\n');
    expect(pauses.slice(1)).toContain(pause);
    // The attempts alone ask for at most nine.
    expect(Math.max(...pauses.map(Number))).toBeLessThanOrEqual(Math.max(9, Number(pause)));
    rmSync(join(folder, 'data', 'pauses'));
    expectWhole();
  },
);

test('a server that keeps failing is given up after ten attempts', async () => {
  server.serve('/failing', { content, failing: { status: 500, times: 1e9 } });
  const { code, words } = await run('/failing');
  expect(code).toBe(1);
  expect(words).toContain(` of ${content.length} bytes: The requested URL returned error: 500 (HTTP 500)\n`);
  expect(server.asked('/failing').length).toBeLessThanOrEqual(10 * connections);
});

test('a server that does not answer at all is given up after ten attempts', async () => {
  const { code, words } = await run('', { url: 'http://127.0.0.1:1/nobody' });
  expect(code).toBe(1);
  expect(words).toMatch(
    /\/nobody breaks off at 0 of an unknown number of bytes: Failed to connect to 127.0.0.1 port 1.* \(HTTP 000\)\n$/,
  );
});

test('a connection that becomes silent is opened again', async () => {
  server.serve('/silence', { content, breaking: { times: 2, how: 'silence' } });
  expect((await run('/silence', { instead: { '--speed-time 60': '--speed-time 2' } })).code).toBe(0);
  expectWhole();
});

test('silence on all connections is one attempt, and the next one continues', async () => {
  server.serve('/silent', { content, breaking: { times: 2 * connections, how: 'silence' } });
  expect((await run('/silent', { instead: { '--speed-time 60': '--speed-time 1' } })).code).toBe(0);
  expectWhole();
  expect(server.sent('/silent')).toBeLessThan(1.5 * content.length);
});

test('a server that stays silent is given up', async () => {
  server.serve('/mute', { content, breaking: { times: 1e9, how: 'mute' } });
  const mute = {
    '--speed-time 60': '--speed-time 1',
    '"$tries" -ge 10': '"$tries" -ge 2',
  };
  const { code, words } = await run('/mute', { instead: mute });
  expect(code).toBe(1);
  expect(words).toMatch(/\/mute breaks off at \d+ of \d+ bytes: Operation too slow.* \(HTTP \d+\)\n$/);
});

test('a wrong SHA-256 is reported with both hashes, and the file is not put in place', async () => {
  server.serve('/wrong', { content });
  const wanted = 'a'.repeat(64);
  const { code, words } = await run('/wrong', { sha256: wanted });
  expect(code).toBe(1);
  expect(words).toBe(
    `${server.url('/wrong')} is corrupted, or not the file that the inventory names: SHA-256 ${hash}, wanted ${wanted} (${content.length} bytes)\n`,
  );
  expect(existsSync(path)).toBe(false);
});

test('a continued file that is wrong is fetched once more', async () => {
  server.serve('/spoiled', { content, etag: '"1"', rate: inSeconds(5) });
  await cutOff('/spoiled', content.length / 4);
  const held = readFileSync(part);
  writeFileSync(part, held.fill(0, 0, 4096));
  server.serve('/spoiled', { content, etag: '"1"' });
  expect(await run('/spoiled')).toEqual({ code: 0, words: '' });
  expectWhole();
});

test('too little space is reported before anything is fetched', async () => {
  server.serve('/huge', { content, toldSize: 999_999_999_999_999 });
  const { code, words } = await run('/huge');
  expect(code).toBe(1);
  expect(words).toMatch(
    /^not enough room in .*\/data for http:.*\/huge: 999999999999999 bytes needed, \d+ free\n$/,
  );
  expect(server.asked('/huge')).toEqual([]);
});

test('the holes of a partial file need space, too', async () => {
  server.serve('/room', { content, rate: inSeconds(5) });
  const child = begin('/room');
  // Connections that end their ranges at the same moment leave no hole.
  const holes = () => statSync(part).size - heldOf(part);
  await until(() => existsSync(part) && holes() > 100_000);
  await kill(child);
  const missing = content.length - heldOf(part);
  expect(holes()).toBeGreaterThan(1);
  mkdirSync(join(folder, 'bin'));
  const answerFree = (free: number) =>
    writeFileSync(join(folder, 'bin', 'df'), `#!/bin/sh\necho Avail\necho ${free}\n`, { mode: 0o755 });
  const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
  answerFree(missing - 1);
  const { words } = await run('/room', { env });
  expect(words).toMatch(new RegExp(`: ${missing} bytes needed, ${missing - 1} free\n$`));
  answerFree(missing);
  server.serve('/room', { content });
  expect((await run('/room', { env })).code).toBe(0);
});

test.each(formsOf([connections, 1]))(
  'a disk that becomes full is reported at once, by %i connections',
  async (count) => {
    server.serve('/full', { content });
    mkdirSync(join(folder, 'bin'));
    // Other programs write there, too: there was space during the check.
    writeFileSync(join(folder, 'bin', 'df'), '#!/bin/sh\necho Avail\necho 999999999\n', { mode: 0o755 });
    const script = {
      ': "${url:?}"': `mount -t tmpfs -o size=3m tmpfs ${join(folder, 'data')} || exit 99\n: "\${url:?}"`,
    };
    const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
    const { code, words } = await run('/full', { instead: script, env, alone: true, connections: count });
    expect(code).toBe(1);
    expect(words).toMatch(
      /^there is no room in .*\/data for http:.*\/full: it is full\. The next run goes on\n$/,
    );
    expect(words.match(/it is full/g)).toHaveLength(1);
  },
);

test.each(formsOf([connections, 1]))(
  'an empty file is fetched, or reported as the wrong file, by %i connections',
  async (count) => {
    const nothing = contentOf(0);
    server.serve('/empty', nothing);
    const { code, words } = await run('/empty', { connections: count });
    expect(code).toBe(1);
    expect(words).toBe(
      `${server.url('/empty')} is corrupted, or not the file that the inventory names: SHA-256 ${nothing.hash}, wanted ${hash} (0 bytes)\n`,
    );
    expect(await run('/empty', { connections: count, sha256: nothing.hash })).toEqual({ code: 0, words: '' });
    expectWhole(nothing.content);
  },
);

/**
 * Programs that record their arguments before they do their work.
 *
 * @returns the environment with them, and the records
 */
function noting(...programs: readonly string[]) {
  const bin = join(folder, 'noting');
  const notes = join(folder, 'notes');
  mkdirSync(bin);
  for (const program of programs) {
    const real = execFileSync('/bin/sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim();
    writeFileSync(
      join(bin, program),
      `#!/bin/sh\n{ echo ${program} "$@"; env; } >>${notes}\nexec ${real} "$@"\n`,
      {
        mode: 0o755,
      },
    );
  }
  return { env: { PATH: `${bin}:${process.env.PATH}` }, noted: () => readFileSync(notes, 'utf8') };
}

test.each(formsOf([connections, 1]))(
  'the query of an address is in no argument list, message or readable file, by %i connections',
  async (count) => {
    const address = '/signed?X-Amz-Signature=5ec2e7';
    const { env, noted } = noting('curl');
    server.serve(address, { content, rate: inSeconds(5) });
    const child = begin(address, { connections: count, env });
    await until(() => existsSync(part) && statSync(part).size > 0);
    expect(statSync(`${part}.of`).mode & 0o777).toBe(0o600);
    await kill(child);
    expect(noted()).toMatch(/^curl .*--head/m);
    expect(noted()).toMatch(count === 1 ? /--speed-limit/ : /--range \d+-\d+/);
    server.serve(address, { content, failing: { status: 404, times: 1e9 } });
    const missing = await run(address, { connections: count, env });
    expect(missing.words).toContain(`${server.url('/signed')} answers 404\n`);
    server.serve(address, { content });
    const wrong = await run(address, { connections: count, env, sha256: 'a'.repeat(64) });
    expect(wrong.words).toContain(`${server.url('/signed')} is corrupted, or not the file`);
    expect((await run(address, { connections: count, env })).code).toBe(0);
    expect(readFileSync(path).equals(content)).toBe(true);
    for (const seen of [noted(), missing.words, wrong.words]) expect(seen).not.toContain('5ec2e7');
  },
);

test('redirects are followed', async () => {
  server.serve('/moved', { content, location: server.url('/there') });
  server.serve('/there', { content });
  expect(await run('/moved')).toEqual({ code: 0, words: '' });
  expectWhole();
});

test('settings and passwords of the user are not read', async () => {
  const home = join(folder, 'data', 'home');
  mkdirSync(home);
  writeFileSync(join(home, '.curlrc'), 'header = "X-Of-The-User: yes"\n');
  writeFileSync(join(home, '.netrc'), 'machine 127.0.0.1 login somebody password something\n', {
    mode: 0o600,
  });
  server.serve('/plain', { content });
  expect((await run('/plain', { env: { HOME: home } })).code).toBe(0);
  for (const { headers } of server.asked('/plain')) {
    expect(headers).not.toHaveProperty('x-of-the-user');
    expect(headers).not.toHaveProperty('authorization');
  }
});

test.each(
  ['/f[1-3]{a,b}', "/it's$(touch%20ran)`id`;x", '/a=b&c;d', '/a?b=c&d'].flatMap((address) =>
    formsOf([connections, 1]).map((count): [string, number] => [address, count]),
  ),
)('%s is one address and not a pattern, by %i connections', async (address, count) => {
  server.serve(address, { content });
  expect(await run(address, { connections: count })).toEqual({ code: 0, words: '' });
  expectWhole();
  expect(new Set(server.asked(address).map(({ path: asked }) => asked))).toEqual(new Set([address]));
});

test('an address that begins with a dash is not an option', async () => {
  const { code, words } = await run('', { url: '--version' });
  expect(code).toBe(1);
  expect(words).toMatch(/--version breaks off at 0 of an unknown number of bytes: .* \(HTTP 000\)\n$/);
});

test.each([
  ['/x.torrent', 'application/x-bittorrent'],
  ['/x.meta4', 'application/metalink4+xml'],
  ['/x.gz', 'application/gzip', 'gzip'],
])('%s is stored as it arrives', async (address, type, encoding?: string) => {
  const headers = { 'content-type': type, ...(encoding ? { 'content-encoding': encoding } : {}) };
  server.serve(address, { content, headers });
  expect(await run(address)).toEqual({ code: 0, words: '' });
  expectWhole();
});

test.each(
  formsOf([
    [connections, 1],
    [1, connections],
  ]),
)('a file that %i connections started and %i finish is right', async (first, then) => {
  const address = `/${first}-then-${then}`;
  server.serve(address, { content, etag: '"1"', rate: inSeconds(5) });
  await cutOff(address, content.length / 10, { connections: first });
  expect(existsSync(`${part}.got`)).toBe(first > 1);
  server.serve(address, { content, etag: '"1"', rate: inSeconds(5) });
  await cutOff(address, content.length / 10, { connections: then }, 3500);
  server.serve(address, { content, etag: '"1"' });
  const before = server.asked(address).length;
  expect(await run(address, { connections: then })).toEqual({ code: 0, words: '' });
  expectWhole();
  // The third download continued the second one.
  const fetched = server.asked(address).slice(before);
  expect(fetched.reduce((sum, { sent }) => sum + sent, 0)).toBeLessThan(content.length);
});
