import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Secret } from '../lib/engine/secret/secret.ts';
import type { Storage } from '../lib/node/variables/s3.ts';
import { goEnvironment, newerGo, quickly } from './go.ts';

// Versity's S3 gateway: a server that is used in production. It checks signatures, their time and
// region, and the SHA-256 of what is sent. Files of its folder are objects.

const tools = join(import.meta.dirname, '../.lab/tools');
/** The path of the server's program. */
export const storageServer = join(tools, 'versitygw');
const version = 'v1.2.0';

/** Commands of the server that no test starts: their libraries take a sixth of the time to build. */
const leftOut = ['azure', 'test'];

/** Builds the server from its Go module, once. Needs root and the network. */
export async function getStorageServer(): Promise<void> {
  if (existsSync(storageServer)) return;
  mkdirSync(tools, { recursive: true });
  const run = promisify(execFile);
  const go = newerGo();
  const env = { ...process.env, ...goEnvironment };
  const got = await run(go, ['mod', 'download', '-json', `github.com/versity/versitygw@${version}`], { env });
  const { Dir: source } = JSON.parse(got.stdout) as { Dir: string };
  const folder = mkdtempSync(join(tmpdir(), 'storage-server-'));
  try {
    cpSync(source, folder, { recursive: true });
    for (const name of leftOut) {
      const head = 'package main\n\nimport "github.com/urfave/cli/v2"\n\n';
      const command = `func ${name}Command() *cli.Command { return &cli.Command{Name: "${name}"} }\n`;
      writeFileSync(join(folder, `cmd/versitygw/${name}.go`), head + command);
    }
    await run(go, ['build', ...quickly, '-o', storageServer, './cmd/versitygw'], { cwd: folder, env });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const root = { access: 'AKIAROOT', secret: 'root/Secret+1' };
const region = 'eu-test-1';

/** A port that nobody has. */
async function freePort(own: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, own, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/**
 * A storage with one bucket, `snapshots`.
 *
 * @param address of this machine, at which it listens
 */
export async function startStorage(address = '127.0.0.1') {
  const base = mkdtempSync('/var/tmp/storage-');
  const bucket = join(base, 'root', 'snapshots');
  for (const folder of [bucket, join(base, 'iam')]) mkdirSync(folder, { recursive: true });
  const port = await freePort(address);
  const endpoint = `http://${address}:${port}`;
  let log = '';
  let child: ChildProcess | undefined;
  const admin = (...words: readonly string[]) =>
    execFileSync(storageServer, [
      ...['admin', '--access', root.access, '--secret', root.secret, '--region', region],
      ...['--endpoint-url', endpoint, ...words],
    ]);
  const start = async () => {
    const options = ['--port', `${address}:${port}`, '--region', region, '--iam-dir', join(base, 'iam')];
    const keys = { ROOT_ACCESS_KEY: root.access, ROOT_SECRET_KEY: root.secret };
    child = spawn(storageServer, [...options, '--iam-cache-disable', 'posix', join(base, 'root')], {
      env: { ...process.env, ...keys },
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => {
        log += text;
      });
    for (let tries = 0; tries < 200; tries++) {
      if (await fetch(endpoint).catch(() => undefined)) return;
      await delay(50);
    }
    throw new Error(`the storage does not start: ${log}`);
  };
  const stop = async () => {
    const ended = new Promise((resolve) => child?.once('close', resolve));
    child?.kill('SIGKILL');
    await ended;
  };
  await start();
  const storage = (own: Partial<Storage> = {}): Storage => ({
    endpoint,
    region,
    path_style: true,
    access_key: new Secret(root.access),
    secret_key: new Secret(root.secret),
    ...own,
  });
  return {
    endpoint,
    /** The folder of the bucket on this machine. */
    bucket,
    storage,
    /** Adds an account, and gives its storage. One with role `admin` may do everything. */
    account(access: string, role: 'user' | 'admin') {
      admin('create-user', '--access', access, '--secret', `${access}-secret`, '--role', role);
      return storage({ access_key: new Secret(access), secret_key: new Secret(`${access}-secret`) });
    },
    /** Lets an account list the bucket and read its files, and nothing else. */
    allowReading(access: string) {
      const arn = 'arn:aws:s3:::snapshots';
      const statement = {
        Effect: 'Allow',
        Principal: { AWS: [access] },
        Action: ['s3:GetObject', 's3:ListBucket'],
        Resource: [arn, `${arn}/*`],
      };
      const policy = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
      const sum = createHash('sha256').update(policy).digest('hex');
      execFileSync('curl', [
        ...['--silent', '--show-error', '--fail-with-body', '--request', 'PUT', '--data', policy],
        ...['--aws-sigv4', `aws:amz:${region}:s3`, '--user', `${root.access}:${root.secret}`],
        ...['--header', `x-amz-content-sha256: ${sum}`, `${endpoint}/snapshots?policy=`],
      ]);
    },
    withdraw: (access: string) => void admin('delete-user', '--access', access),
    /** Requests so far: method and path, a line each. */
    log: () => log,
    start,
    stop,
    /** It keeps its connections and answers nothing more. */
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
    async remove() {
      child?.kill('SIGCONT');
      await stop();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
