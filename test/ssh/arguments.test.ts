import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type Connection, connect } from '../../lib/engine/host/connection.ts';
import { createReader } from '../../lib/engine/host/reader.ts';
import { write } from '../../lib/engine/host/step.ts';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { settingsFor } from '../../lib/engine/host/testing/real-ssh.ts';
import { createWriter } from '../../lib/engine/host/writer.ts';
import { downloadScript } from '../../lib/engine/resource/download/download-script.ts';
import { secretContent } from '../../lib/engine/resource/file/content.ts';
import { file } from '../../lib/engine/resource/file/file.ts';
import { jsonFile } from '../../lib/engine/resource/file/json-file.ts';
import { line } from '../../lib/engine/resource/file/line.ts';
import { acceptedFile } from '../../lib/engine/resource/kinds.ts';
import { askHttp } from '../../lib/engine/resource/network/http.ts';
import type { Resource } from '../../lib/engine/resource/resource.ts';
import { hostOver, makeSteps } from '../../lib/engine/resource/testing/test-host.ts';
import { appending } from '../../lib/engine/run/lock/journal.ts';
import { recordedRun } from '../../lib/engine/run/testing/recorded-run.ts';
import { Secret } from '../../lib/engine/secret/secret.ts';
import { jsonRpc } from '../../lib/node/chain/json-rpc.ts';
import { newestBlockPair } from '../../lib/node/chain/newest-block.ts';
import { installMissing } from '../install-missing.ts';
import { formsOf } from './forms-of.ts';
import { installSshd, type Sshd, startSshd } from './sshd.ts';

let sshd: Sshd;

beforeAll(async () => {
  installSshd();
  installMissing([['/usr/bin/curl', 'curl']]);
  sshd = await startSshd('', { isTraced: true });
});

afterAll(() => sshd?.stop());

/** No other text has it. */
const canary = `canary${randomBytes(8).toString('hex')}`;

async function open() {
  const connection = await connect('db-1', settingsFor(sshd), { retries: 0 });
  onTestFinished(() => connection.close());
  return connection;
}

/** All programs that the host starts for a connection, with their arguments. */
async function executedDuring(work: (connection: Connection) => Promise<unknown>): Promise<string> {
  const from = sshd.executed().length;
  const connection = await open();
  await work(connection);
  const last = `last-${randomBytes(8).toString('hex')}`;
  await connection.exec(`/bin/true ${last}`);
  await vi.waitFor(() => expect(sshd.executed()).toContain(last), 10_000);
  return sshd.executed().slice(from);
}

/** The forms of the canary that are in what was executed. */
const seenIn = (executed: string) => formsOf(canary).filter((form) => executed.includes(form));

/** A web server whose addresses hold the canary. It answers as a chain does. */
async function server(): Promise<string> {
  const web = createServer((request, response) => {
    request.resume().on('end', () => {
      response.end('{"jsonrpc":"2.0","id":1,"result":{"number":"0x5","hash":"0xab","timestamp":"0x1"}}');
    });
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void web.close());
  return `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
}

test('the trace sees a value that is an argument', async () => {
  const executed = await executedDuring((connection) => connection.exec(`env -i /bin/true ${canary}`));
  expect(seenIn(executed)).toEqual([canary]);
  for (const text of [`ab${canary}`, `a${canary}b`, `${canary}abc`]) {
    expect(seenIn(Buffer.from(text).toString('base64'))).toHaveLength(1);
  }
});

test('scripts, contents, queries, addresses and lines of the journal are in no argument list of a host', async () => {
  const web = await server();
  const address = `${web}/${canary}?key=${canary}`;
  const folder = temporaryDirectory();
  const target = { container: 'none', user: 'u', database: 'd' };
  const _attributes = { mode: 0o600, owner: 'root', group: 'root' };
  const executed = await executedDuring(async (connection) => {
    const reader = createReader(connection, 'db-1');
    const writer = createWriter(connection, 'db-1', { onProgress: () => {} });
    await reader.$`: ${canary}; echo ${canary} | cat`;
    await reader.$({ stdin: canary })`cat; : ${canary}`;
    await reader.$({ timeoutSeconds: 5 })`: ${canary}; id`;
    await reader.sql(target, `select '${canary}'`);
    await Promise.all([askHttp(reader, address), askHttp(reader, address, { json: `{"a":"${canary}"}` })]);
    await jsonRpc(reader, address, 'eth_blockNumber', [canary]);
    expect((await newestBlockPair(reader, { url: web }, address)).ok).toBe(true);
    await writer.run({ stdin: canary })`cat >/dev/null; : ${canary}`;
    await writer.run({ stdin: new Secret(canary) })`cat >/dev/null`;
    for (const size of [1, 10_000])
      await makeSteps(hostOver(connection), {
        ...write(join(folder, 'file'), canary.repeat(size)),
        secret: true,
      });
    await connection.exec(appending(`{"why":"${canary}"}`, folder));
    await connection.exec(`#${canary}${'x'.repeat(200_000)}\nid`, { stdin: canary });
  });
  expect(executed.match(/execve\(/g)?.length).toBeGreaterThan(50);
  expect(executed).toContain('curl');
  expect(seenIn(executed)).toEqual([]);
});

test('on a host that is far away, nothing is in the arguments of channels that are opened ahead', async () => {
  const executed = await executedDuring(async (connection) => {
    // A slow first command makes the host look far away.
    await connection.exec('sleep 1');
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (let at = 0; at < 4; at += 1) await connection.exec(`: ${canary}; echo ${at}`, { stdin: canary });
  });
  expect(seenIn(executed)).toEqual([]);
});

test('the steps of changes are in no argument list of a host', async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'lines'), 'one\n');
  const resources: Resource[] = [
    file(join(folder, 'plain')).content(`url = ${canary}\n`),
    file(join(folder, 'secret')).content(secretContent(`Password = "${canary}"\n`, /password/i)),
    file(join(folder, 'large')).content(`${canary}\n`.repeat(1000)),
    line(join(folder, 'lines'), `two ${canary}`),
    jsonFile(join(folder, 'keys.json'), { webhook: canary }),
    acceptedFile({
      path: join(folder, 'accepted'),
      content: `: ${canary}\n`,
      judge: ['sh', '-n'],
      source: 'a test',
    }),
  ];
  const executed = await executedDuring(async () => {
    const { done } = await recordedRun(await connect('db-1', settingsFor(sshd), { retries: 0 }), resources, {
      check: false,
    });
    expect(done.map(({ outcome }) => outcome)).toEqual(resources.map(() => 'changed'));
  });
  expect(seenIn(executed)).toEqual([]);
});

test('an address is in no argument list while a file is downloaded, by one connection or by several', async () => {
  const folder = temporaryDirectory();
  const url = `${await server()}/${canary}?key=${canary}`;
  const executed = await executedDuring(async (connection) => {
    for (const connections of [1, 4]) {
      const source = { url, path: join(folder, `file-${connections}`), sha256: '0'.repeat(64), connections };
      // The content is another one, which it notices at the end.
      const { code, stderr } = await connection.exec(downloadScript(source, join(folder, 'status')));
      expect([code, String(stderr)]).toEqual([1, expect.stringContaining('is corrupted')]);
    }
  });
  expect(seenIn(executed)).toEqual([]);
});
