import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import { shellSettings } from '../../lib/engine/host/shell-settings.ts';
import { standInFor } from '../../lib/engine/host/testing/local-connection.ts';
import { downloadScript } from '../../lib/engine/resource/download/download-script.ts';
import { describeVerdict, ok, refused } from '../../lib/engine/resource/resource.ts';
import { thisMachine } from '../../lib/engine/resource/testing/this-machine.ts';
import { Secret } from '../../lib/engine/secret/secret.ts';
import { loadDeployment } from '../../lib/node/inventory/inventory.ts';
import type { JudgeManifest } from '../../lib/node/snapshot/judge-manifest.ts';
import { archivesFit } from '../../lib/node/snapshot/snapshot.ts';
import { snapshotIsUploaded } from '../../lib/node/snapshot/uploaded.ts';
import { labDeployment } from '../../lib/node/testing/lab-deployment.ts';
import { type Storage, signing, webAddress } from '../../lib/node/variables/s3.ts';
import type { Variables } from '../../lib/node/variables/variables.ts';
import { installMissing } from '../install-missing.ts';
import { getStorageServer, startStorage } from '../storage-server.ts';
import { formsOf } from './seed.ts';

// Snapshots in storage: the scripts of hosts, against a real S3 gateway that checks signatures.

const mebibyte = 1024 ** 2;
let server: Awaited<ReturnType<typeof startStorage>>;
let folder: string;

beforeAll(async () => {
  installMissing([
    ['/usr/bin/curl', 'curl'],
    ['/usr/bin/faketime', 'faketime'],
  ]);
  await getStorageServer();
  server = await startStorage();
  put('today/state.sql.tar.gz', randomBytes(3000));
});

afterAll(() => server.remove());

beforeEach(() => {
  folder = mkdtempSync('/var/tmp/storage-test-');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string, content: Buffer): void {
  const path = join(server.bucket, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
}

/** What a deploy says of the archives in a storage before anything is stopped. */
async function archivesAre(s3: Storage, name = 's3://snapshots/today/state.sql.tar.gz'): Promise<string> {
  const archive = { store: 'state', url: name, sha256: '', path: '', table: '' } as const;
  const fit = archivesFit({ state: archive, prover: { ...archive, store: 'prover' } }, {
    date: '2024-06-01',
    s3,
  } as Variables['snapshot']);
  return describeVerdict(await fit.check(await thisMachine()));
}

/** What a snapshot into a storage says before it is taken. */
async function targetIs(
  s3: Storage,
  target = 's3://snapshots/new',
  isWanted: JudgeManifest = () => ok,
): Promise<string> {
  const vars = { paths: { data: folder }, snapshot: { connections: 1 } } as Variables;
  const [, free] = snapshotIsUploaded({ vars }, s3, target, { take: () => [], isWanted });
  if (!free) throw new Error('nothing is asked');
  return describeVerdict(await free.check(await thisMachine()));
}

/** A server that answers as a storage does in a case that the gateway does not have. */
async function answering(status: number, code: string, more = '', headers = {}): Promise<Storage> {
  const body = `<?xml version="1.0"?>\n<Error><Code>${code}</Code><Message>No.</Message>${more}</Error>`;
  const stand = createServer((request, response) =>
    response.writeHead(status, headers).end(request.method === 'HEAD' ? '' : body),
  );
  await new Promise<void>((resolve) => stand.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void stand.close());
  return server.storage({ endpoint: `http://127.0.0.1:${(stand.address() as AddressInfo).port}` });
}

const forbidden =
  'the storage does not allow this with this key: give the key the right, or use another key. The storage answers the same for a missing file if the key may not list the bucket (HTTP 403, AccessDenied)';

describe('A storage refuses a snapshot before anything is stopped', () => {
  test('what is there is read', async () => {
    expect(await archivesAre(server.storage())).toContain('the restore tool takes PostgreSQL dumps');
    expect(await targetIs(server.storage())).toBe('ok');
  });

  test.each<[string, () => Storage | Promise<Storage>, string]>([
    [
      'an unknown access key',
      () => server.storage({ access_key: new Secret('AKIAOTHER') }),
      'the storage does not know the access key: correct snapshot.s3.access_key (HTTP 403, InvalidAccessKeyId)',
    ],
    [
      'another secret key',
      () => server.storage({ secret_key: new Secret('other.Key~1') }),
      'the secret key is not that of the access key: correct snapshot.s3.secret_key (HTTP 403, SignatureDoesNotMatch)',
    ],
    [
      'another region',
      () => server.storage({ region: 'us-east-1' }),
      'the bucket is in region eu-test-1: correct snapshot.s3.region, and snapshot.s3.endpoint where it names a region (HTTP 400, AuthorizationHeaderMalformed)',
    ],
    ['a key without rights', () => server.account('AKIAPOOR', 'user'), forbidden],
    [
      'a region that the storage names in its answer (a stand-in)',
      () => answering(400, 'AuthorizationHeaderMalformed', '<Region>eu-west-3</Region>'),
      'the bucket is in region eu-west-3: correct snapshot.s3.region, and snapshot.s3.endpoint where it names a region (HTTP 400, AuthorizationHeaderMalformed)',
    ],
    [
      'a bucket at another endpoint (a stand-in)',
      () => answering(301, 'PermanentRedirect', '', { 'x-amz-bucket-region': 'ap-southeast-1' }),
      'the bucket is in region ap-southeast-1: correct snapshot.s3.region, and snapshot.s3.endpoint where it names a region (HTTP 301, PermanentRedirect)',
    ],
    [
      'a session token that has expired (a stand-in)',
      () => answering(400, 'ExpiredToken'),
      'the session token has expired: get a new one, with its keys (HTTP 400, ExpiredToken)',
    ],
    [
      'a session token of other keys (a stand-in)',
      () => answering(403, 'InvalidToken'),
      'the session token is not that of the keys: correct snapshot.s3.session_token (HTTP 403, InvalidToken)',
    ],
  ])('%s: named, with what to do', async (_, of, words) => {
    const storage = await of();
    expect(await archivesAre(storage)).toContain(`s3://snapshots/today/state.sql.tar.gz: ${words}`);
    expect(await targetIs(storage)).toBe(`s3://snapshots/new: ${words}`);
  });

  test('a manifest is read from the storage, and names the archives beside it', async () => {
    const sum = 'a'.repeat(64);
    const archive = (store: string) => ({ file: `testnet_${store}_db.sql.tar.gz`, sha256: sum, bytes: 10 });
    const manifest = {
      ...{
        network: 'test',
        date: '2024-06-01',
        taken_at: '2024-06-01T10:00:00Z',
        block: 1,
        hash: `0x${sum}`,
      },
      ...{ state: archive('state'), prover: archive('prover') },
    };
    put('day/manifest.json', Buffer.from(JSON.stringify(manifest)));
    vi.stubEnv('STORAGE_KEY', 'AKIAROOT');
    vi.stubEnv('STORAGE_SECRET', 'root/Secret+1');
    onTestFinished(() => void vi.unstubAllEnvs());
    const load = async (name: string) => {
      const s3 = { endpoint: server.endpoint, region: 'eu-test-1' };
      const keys = { access_key: 'env:STORAGE_KEY', secret_key: 'env:STORAGE_SECRET' };
      const file = await labDeployment([
        [['vars_files'], undefined],
        [['vars', 'network', 'genesis', 'sha256'], sum],
        [['vars', 'snapshot'], { manifest: `s3://snapshots/${name}`, s3: { ...s3, ...keys } }],
      ]);
      return loadDeployment(file);
    };
    const { hosts } = await load('day/manifest.json');
    expect(hosts[0]?.vars.snapshot.prover.url).toBe('s3://snapshots/day/testnet_prover_db.sql.tar.gz');
    put('day/long.json', Buffer.alloc(17 * mebibyte));
    await expect(load('day/long.json')).rejects.toThrow(
      's3://snapshots/day/long.json is longer than 16777216 bytes',
    );
    await expect(load('day/other.json')).rejects.toThrow(
      's3://snapshots/day/other.json cannot be read: there is no such file in the bucket (HTTP 404, NoSuchKey)',
    );
  });

  test('no such bucket', async () => {
    const words = 'there is no such bucket: correct its name, or make it (HTTP 404, NoSuchBucket)';
    expect(await archivesAre(server.storage(), 's3://absent/state')).toContain(`s3://absent/state: ${words}`);
    expect(await targetIs(server.storage(), 's3://absent/new')).toBe(`s3://absent/new: ${words}`);
  });

  test('no such file', async () => {
    expect(await archivesAre(server.storage(), 's3://snapshots/absent')).toContain(
      's3://snapshots/absent: there is no such file in the bucket (HTTP 404, NoSuchKey)',
    );
  });

  test('an endpoint that does not answer', async () => {
    const away = server.storage({ endpoint: 'http://127.0.0.1:1' });
    const words =
      /: the storage at 127\.0\.0\.1:1 does not answer \S+ \(Failed to connect.*\): check snapshot\.s3\.endpoint, and the network/;
    expect(await archivesAre(away)).toMatch(words);
    expect(await targetIs(away)).toMatch(words);
  });

  test.each([
    ['-40 minutes', /the clock of \S+ is (39|40) minutes behind that of the storage/],
    ['+40 minutes', /the clock of \S+ is (39|40|41) minutes ahead of that of the storage/],
  ])('a clock that is %s off: named, with how it is corrected', async (offset, words) => {
    for (const program of ['curl', 'date'])
      standInFor(
        program,
        `exec /usr/bin/faketime -f '${offset.replace(' minutes', 'm')}' /usr/bin/${program} "$@"`,
      );
    for (const said of [await archivesAre(server.storage()), await targetIs(server.storage())]) {
      expect(said).toMatch(words);
      expect(said).toContain(
        'which then accepts no signature: correct the clock (timedatectl shows it, chronyc',
      );
    }
  });

  test('a curl that cannot sign', async () => {
    standInFor('curl', 'echo "curl 7.81.0 (x86_64-pc-linux-gnu)"');
    expect(await archivesAre(server.storage())).toMatch(
      /curl of \S+ is older than 7\.88 and cannot sign requests for a storage: use a host with Debian 12/,
    );
  });

  test('a folder with something else', async () => {
    put('used/notes.txt', Buffer.from('mine'));
    put('half/piece-000000.tar.zst', Buffer.from('of another host'));
    put('all/today/manifest.json', Buffer.from('of the folder today'));
    const words = 'which is not of a snapshot that this host sends';
    expect(await targetIs(server.storage(), 's3://snapshots/used')).toBe(
      `s3://snapshots/used holds notes.txt, ${words}`,
    );
    expect(await targetIs(server.storage(), 's3://snapshots/half')).toBe(
      `s3://snapshots/half holds piece-000000.tar.zst, ${words}`,
    );
    expect(await targetIs(server.storage(), 's3://snapshots/all')).toBe(
      `s3://snapshots/all holds today/manifest.json, ${words}`,
    );
  });

  test('a folder with a snapshot: judged by its manifest and its files', async () => {
    const piece = 'piece-000000.tar.zst';
    put(`sent/${piece}`, Buffer.alloc(77));
    put('sent/manifest.json', Buffer.from('of another deployment'));
    const judge: JudgeManifest = (text, folder, has) =>
      refused(`${folder}: ${text}, ${has(piece, 77)}, ${has(piece, 76)}`, 'name another folder');
    expect(await targetIs(server.storage(), 's3://snapshots/sent', judge)).toBe(
      's3://snapshots/sent: of another deployment, true, false',
    );
  });
});

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** Runs a script as a unit does. Programs of the folder `bin` are before all others. */
function run(script: string) {
  const child = spawn('sh', ['-c', script], {
    env: { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` },
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, said })));
  const kill = async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  return { ended, kill };
}

function program(name: string, script: string): void {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** A curl that gives up a silent server after seconds, and waits in between that are short. */
function impatient(): void {
  program('curl', 'exec /usr/bin/curl "$@" --speed-time 2');
  program('sleep', 'exec /usr/bin/sleep 0.1');
}

/** A curl that sends and fetches so slowly that a test can come in between. Bytes a second. */
const slow = (rate: number) => program('curl', `exec /usr/bin/curl "$@" --limit-rate ${rate}`);

function keysOf(storage: Storage): string {
  const path = join(folder, 'keys');
  writeFileSync(path, signing(storage).reveal(), { mode: 0o600 });
  return path;
}

async function until(what: () => boolean): Promise<void> {
  for (let waited = 0; !what(); waited += 10) {
    if (waited > 60_000) throw new Error(`never came: ${what}`);
    await delay(10);
  }
}

const sumOf = (content: Buffer) => createHash('sha256').update(content).digest('hex');
const content = randomBytes(9 * mebibyte + 77);

describe('A download from a storage goes wrong', () => {
  const name = 's3://snapshots/big';
  const path = () => join(folder, 'data', 'archive');
  const part = () => `${path()}.part`;

  beforeEach(() => {
    mkdirSync(join(folder, 'data'));
    put('big', content);
  });

  function fetching(storage: Storage, connections = 4, sha256 = sumOf(content)) {
    const source = { url: webAddress(name, storage), shown: name, path: path(), sha256, connections };
    return run(downloadScript({ ...source, keys: keysOf(storage) }, join(folder, 'status')));
  }
  const expectWhole = () => expect(readFileSync(path()).equals(content)).toBe(true);

  test.each(formsOf([4, 1]))('by %i connections nothing goes wrong: it is whole', async (connections) => {
    expect(await fetching(server.storage(), connections).ended).toEqual({ code: 0, said: '' });
    expectWhole();
  });

  test('no key is in an argument list or an environment', async () => {
    program('curl', `{ echo "$@"; env; } >>${folder}/notes\nexec /usr/bin/curl "$@"`);
    expect((await fetching(server.storage()).ended).code).toBe(0);
    const notes = readFileSync(join(folder, 'notes'), 'utf8');
    expect(notes).toContain('--range');
    for (const secret of ['AKIAROOT', 'root/Secret+1']) expect(notes).not.toContain(secret);
  });

  test.each(formsOf([4, 1]))('killed, by %i connections: the next run goes on', async (connections) => {
    slow(connections === 1 ? 2 * mebibyte : mebibyte / 2);
    const first = fetching(server.storage(), connections);
    // What is there: the whole length is set at the start.
    await until(() => (statSync(part(), { throwIfNoEntry: false })?.blocks ?? 0) * 512 > 5 * mebibyte);
    await first.kill();
    rmSync(join(folder, 'bin'), { recursive: true });
    const asked = server.log().length;
    expect(await fetching(server.storage(), connections).ended).toEqual({ code: 0, said: '' });
    expectWhole();
    const gets =
      server
        .log()
        .slice(asked)
        .match(/\| GET \| \/snapshots\/big/g)?.length ?? 0;
    expect(gets).toBeLessThanOrEqual(connections === 1 ? 1 : 8);
  });

  test('the keys are withdrawn in the middle: named, and the next run with others goes on', async () => {
    const account = server.account('AKIAGONE', 'admin');
    const withdrawn = join(folder, 'withdrawn');
    // Ten ranges, two at a time: once some are there, the others begin after the keys are withdrawn.
    const waits = `[ -e ${part()}.got ] && [ "$(wc -l <${part()}.got)" -ge 3 ] && [ ! -e ${withdrawn} ]`;
    program('curl', `while ${waits}; do sleep 0.05; done\nexec /usr/bin/curl "$@"`);
    const first = fetching(account, 2);
    await until(
      () => existsSync(`${part()}.got`) && readFileSync(`${part()}.got`, 'utf8').split('\n').length > 3,
    );
    server.withdraw('AKIAGONE');
    writeFileSync(withdrawn, '');
    expect(await first.ended).toEqual({
      code: 1,
      said: `${name}: the storage does not know the access key: correct snapshot.s3.access_key (HTTP 403, InvalidAccessKeyId)\n`,
    });
    expect(existsSync(path())).toBe(false);
    rmSync(join(folder, 'bin'), { recursive: true });
    const kept = readFileSync(`${part()}.got`, 'utf8').split('\n').length;
    expect(kept).toBeGreaterThan(3);
    expect((await fetching(server.storage()).ended).code).toBe(0);
    expectWhole();
  });

  test('the storage stalls: it is asked again, and the download goes on', async () => {
    impatient();
    server.freeze();
    const first = fetching(server.storage());
    await delay(3000);
    server.thaw();
    expect((await first.ended).code).toBe(0);
    expectWhole();
  });

  test('the storage is away: named, and the next run ends it', async () => {
    impatient();
    await server.stop();
    const { code, said } = await fetching(server.storage()).ended;
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(
        /big breaks off at 0 of an unknown number of bytes: Failed to connect .*\(HTTP 000\)/,
      ),
    ]);
    await server.start();
    expect((await fetching(server.storage()).ended).code).toBe(0);
    expectWhole();
  });

  test('another file under the name: both SHA-256 are named, and it is not put in place', async () => {
    const { code, said } = await fetching(server.storage(), 4, 'a'.repeat(64)).ended;
    expect([code, said]).toEqual([
      1,
      expect.stringContaining(`${name} is corrupted, or not the file that the inventory names: SHA-256`),
    ]);
    expect(existsSync(path())).toBe(false);
  });

  test('a refusal that is longer than the file is named', async () => {
    const small = randomBytes(50);
    put('big', small);
    // The keys are withdrawn once the size is known.
    program(
      'curl',
      'case "$*" in *" --head "* | --version) exec /usr/bin/curl "$@" ;; esac\nsed s/AKIAROOT/AKIANONE/ | /usr/bin/curl "$@"',
    );
    const { said } = await fetching(server.storage(), 1, sumOf(small)).ended;
    expect(said).toContain('the storage does not know the access key: correct snapshot.s3.access_key');
  });

  test('the file is removed: named', async () => {
    rmSync(join(server.bucket, 'big'));
    const { code, said } = await fetching(server.storage()).ended;
    expect([code, said]).toEqual([1, `${name}: there is no such file in the bucket (HTTP 404, NoSuchKey)\n`]);
  });
});

describe('A storage is tried before a snapshot is taken', () => {
  const scripts = ['fetch', 'send', 'try-storage'].map((name) =>
    readFileSync(new URL(`../../templates/host/${name}.sh`, import.meta.url), 'utf8'),
  );
  const trying = (storage: Storage) => {
    const url = `${webAddress('s3://snapshots/tried', storage)}/`;
    const settings = shellSettings({ URL: url, SHOWN: 's3://snapshots/tried/', KEYS: keysOf(storage) });
    return run(`${settings}${scripts.join('')}\necho 'the snapshot is taken'`).ended;
  };

  test('a storage that takes files has nothing of the trial', async () => {
    expect(await trying(server.storage())).toEqual({ code: 0, said: 'the snapshot is taken\n' });
    expect(existsSync(join(server.bucket, 'tried'))).toBe(false);
    expect(existsSync(join(folder, 'keys'))).toBe(false);
  });

  test('a key that may only read: named, and no snapshot is taken', async () => {
    const reader = server.account('AKIAREAD', 'user');
    server.allowReading('AKIAREAD');
    expect(await targetIs(reader, 's3://snapshots/tried')).toBe('ok');
    expect(await trying(reader)).toEqual({
      code: 1,
      said: `s3://snapshots/tried/manifest.json: ${forbidden}\n`,
    });
  });
});

describe('A snapshot on its way to a storage goes wrong', () => {
  const own = () => join(folder, 'own');
  const target = () => `new-${folder.slice(-6)}`;
  const pieces = [randomBytes(12 * mebibyte), randomBytes(5 * mebibyte), randomBytes(321)];
  const nameOf = (at: number) => `piece-${String(at).padStart(6, '0')}.tar.zst`;
  const scripts = ['fetch', 'send', 'upload-snapshot'].map((name) =>
    readFileSync(new URL(`../../templates/host/${name}.sh`, import.meta.url), 'utf8'),
  );

  beforeEach(() => {
    mkdirSync(own());
    const described = pieces.map((piece, at) => {
      writeFileSync(join(own(), nameOf(at)), piece);
      return `    { "file": "${nameOf(at)}", "sha256": "${sumOf(piece)}", "bytes": ${piece.length}, "raw": 512 }`;
    });
    writeFileSync(join(own(), 'manifest.json'), `{\n  "pieces": [\n${described.join(',\n')}\n  ]\n}\n`);
  });

  function sending(storage: Storage) {
    const settings = shellSettings({
      FOLDER: own(),
      URL: `${webAddress(`s3://snapshots/${target()}`, storage)}/`,
      SHOWN: `s3://snapshots/${target()}/`,
      KEYS: keysOf(storage),
      CONNECTIONS: 2,
      PART: 5 * mebibyte,
    });
    return run(settings + scripts.join(''));
  }
  const stored = () => {
    const path = join(server.bucket, target());
    return existsSync(path) ? readdirSync(path).sort() : [];
  };

  function expectSent({ code, said }: Ended): void {
    expect([code, said]).toEqual([
      0,
      expect.stringContaining(`the snapshot is in s3://snapshots/${target()}/`),
    ]);
    expect(stored()).toEqual(['manifest.json', ...pieces.map((_, at) => nameOf(at))]);
    for (const [at, piece] of pieces.entries())
      expect(readFileSync(join(server.bucket, target(), nameOf(at))).equals(piece)).toBe(true);
    // Nothing is left here, and no upload is left half there.
    expect([existsSync(own()), existsSync(join(folder, 'keys'))]).toEqual([false, false]);
    const uploads = execFileSync('find', [server.bucket, '-path', '*multipart*', '-type', 'f'], {
      encoding: 'utf8',
    });
    expect(uploads).toBe('');
  }
  const puts = (since: number) =>
    server
      .log()
      .slice(since)
      .match(/\| 200 \|.*\| PUT \| .*partNumber=\d+/g) ?? [];

  test('nothing goes wrong: all of it is in the storage, and nothing on the host', async () => {
    expectSent(await sending(server.storage()).ended);
  });

  test('no key is in an argument list or an environment', async () => {
    program('curl', `{ echo "$@"; env; } >>${folder}/notes\nexec /usr/bin/curl "$@"`);
    expectSent(await sending(server.storage()).ended);
    const notes = readFileSync(join(folder, 'notes'), 'utf8');
    for (const secret of ['AKIAROOT', 'root/Secret+1']) expect(notes).not.toContain(secret);
  });

  test.each([
    ['while the first file is sent', 1],
    ['later in it', 2],
    ['while the second file is sent', 4],
    ['while the third file is sent', 5],
  ])('killed %s: the next run ends it, and sends no part again that is there', async (_, parts) => {
    slow(4 * mebibyte);
    const since = server.log().length;
    const first = sending(server.storage());
    await until(() => puts(since).length >= parts);
    await first.kill();
    expect(stored()).not.toContain('manifest.json');
    rmSync(join(folder, 'bin'), { recursive: true });
    // The list has what was noted; the answer to a part may not have been read.
    expectSent(await sending(server.storage()).ended);
    expect(puts(since).length).toBeLessThanOrEqual(5 + 2);
  });

  test('the keys are withdrawn in the middle: named, without a manifest, and the next run ends it', async () => {
    const account = server.account('AKIALEFT', 'admin');
    slow(2 * mebibyte);
    const since = server.log().length;
    const first = sending(account);
    await until(() => puts(since).length >= 1);
    server.withdraw('AKIALEFT');
    const { code, said } = await first.ended;
    expect([code, said]).toEqual([
      1,
      expect.stringContaining(
        'the storage does not know the access key: correct snapshot.s3.access_key (HTTP 403',
      ),
    ]);
    expect(said).toContain('is not sent. The next run goes on');
    expect(stored()).not.toContain('manifest.json');
    rmSync(join(folder, 'bin'), { recursive: true });
    expectSent(await sending(server.storage()).ended);
  });

  test('a part changes on its way: the storage refuses it, nothing looks whole, and the next run ends it', async () => {
    impatient();
    program(
      'curl',
      `case "$*" in
        *--upload-file*) if mkdir ${folder}/once 2>/dev/null; then
          for each; do case $each in */part) printf X | dd of="$each" conv=notrunc status=none ;; esac; done
          /usr/bin/curl "$@"; code=$?
          echo changed >>${folder}/changed; exit $code
        fi ;;
      esac
      exec /usr/bin/curl "$@"`,
    );
    const { code, said } = await sending(server.storage()).ended;
    // What was changed here stays changed: it is sent in vain, and named.
    expect([code, said]).toEqual([1, expect.stringContaining('XAmzContentSHA256Mismatch')]);
    expect(stored()).not.toContain('manifest.json');
    rmSync(join(folder, 'bin'), { recursive: true });
    expectSent(await sending(server.storage()).ended);
  });

  test('the storage stalls: it is asked again', async () => {
    impatient();
    const first = sending(server.storage());
    await until(() => existsSync(join(own(), '.upload')));
    server.freeze();
    await delay(3000);
    server.thaw();
    expectSent(await first.ended);
  });

  test('the storage is restarted in the middle: it is sent to its end', async () => {
    program('sleep', 'exec /usr/bin/sleep 0.5');
    const since = server.log().length;
    const first = sending(server.storage());
    await until(() => puts(since).length >= 1);
    await server.stop();
    await server.start();
    expectSent(await first.ended);
  });

  test('the storage has forgotten an upload: the upload starts over', async () => {
    slow(4 * mebibyte);
    const since = server.log().length;
    const first = sending(server.storage());
    await until(() => puts(since).length >= 1);
    await first.kill();
    rmSync(join(folder, 'bin'), { recursive: true });
    execFileSync('find', [server.bucket, '-path', '*multipart*', '-delete']);
    expectSent(await sending(server.storage()).ended);
  });

  test('killed when all was sent: the next run removes what is left on the host', async () => {
    program('rm', `case "$*" in *.sent) [ ! -e "$2" ] || sleep 60 ;; esac\nexec /usr/bin/rm "$@"`);
    const first = sending(server.storage());
    await until(() => existsSync(`${own()}.sent/manifest.json`));
    await first.kill();
    rmSync(join(folder, 'bin'), { recursive: true });
    expect((await sending(server.storage()).ended).code).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
    expect(stored()).toContain('manifest.json');
  });

  test('a piece is missing here: named, and no manifest is sent', async () => {
    rmSync(join(own(), nameOf(1)));
    const { code, said } = await sending(server.storage()).ended;
    expect([code, said]).toEqual([1, expect.stringContaining(`${nameOf(1)} cannot be read`)]);
    expect(stored()).not.toContain('manifest.json');
  });

  test('a piece has changed here since it was taken: named, none of it is sent, and what is here stays', async () => {
    const path = join(own(), nameOf(1));
    const changed = readFileSync(path);
    changed.writeUInt8(changed.readUInt8(77) ^ 1, 77);
    writeFileSync(path, changed);
    const { code, said } = await sending(server.storage()).ended;
    expect([code, said]).toEqual([1, expect.stringContaining(`${path} has changed since`)]);
    expect(stored()).toEqual([nameOf(0)]);
    expect(existsSync(join(own(), 'manifest.json'))).toBe(true);
  });

  test('a whole snapshot of another host is there: named, and nothing of it is replaced', async () => {
    const other = join(server.bucket, target());
    const held = { 'manifest.json': '{}', [nameOf(1)]: 'of another host' };
    for (const [name, text] of Object.entries(held)) put(join(target(), name), Buffer.from(text));
    const ends = await sending(server.storage()).ended;
    expect(ends).toEqual({
      code: 1,
      said: `s3://snapshots/${target()}/manifest.json is of another snapshot, and stays: send this one to another folder. What is here stays in ${own()}\n`,
    });
    expect(stored()).toEqual(Object.keys(held));
    rmSync(join(other, 'manifest.json'));
    const { code, said } = await sending(server.storage()).ended;
    expect([code, said]).toEqual([1, expect.stringContaining(`/${nameOf(1)} is of another snapshot`)]);
    expect(readFileSync(join(other, nameOf(1)), 'utf8')).toBe(held[nameOf(1)]);
    expect(existsSync(join(own(), 'manifest.json'))).toBe(true);
  });

  test('another host sends to the same folder meanwhile: named, and no manifest is sent', async () => {
    slow(2 * mebibyte);
    const first = sending(server.storage());
    await until(() => stored().includes(nameOf(0)));
    put(join(target(), nameOf(1)), Buffer.from('of another host'));
    const { code, said } = await first.ended;
    expect([code, said]).toEqual([1, expect.stringContaining(`/${nameOf(1)} is of another snapshot`)]);
    expect(readFileSync(join(server.bucket, target(), nameOf(1)), 'utf8')).toBe('of another host');
    expect(stored()).not.toContain('manifest.json');
  });

  test('a disk that is full: named, and the next run ends it', async () => {
    const small = join(folder, 'own');
    rmSync(small, { recursive: true });
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=18m', 'tmpfs', small]);
    try {
      await fillUp(small);
    } finally {
      execFileSync('umount', [small]);
    }
  });

  async function fillUp(small: string): Promise<void> {
    const described = pieces.map((piece, at) => {
      writeFileSync(join(small, nameOf(at)), piece);
      return `{ "file": "${nameOf(at)}", "sha256": "${sumOf(piece)}", "bytes": ${piece.length}, "raw": 512 }`;
    });
    writeFileSync(join(small, 'manifest.json'), `{ "pieces": [ ${described.join(', ')} ] }\n`);
    const { code, said } = await sending(server.storage()).ended;
    expect([code, said]).toEqual([1, expect.stringContaining('or there is no room for temporary files')]);
    expect(stored()).not.toContain('manifest.json');
    execFileSync('mount', ['-o', 'remount,size=60m', small]);
    expect((await sending(server.storage()).ended).code).toBe(0);
    expect(stored()).toContain('manifest.json');
  }
});
