import { execFileSync, spawn } from 'node:child_process';
import { createHash, sign, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from '../../lib/engine/host/testing/local-connection.ts';
import { installMissing } from '../install-missing.ts';
import { freePort } from '../ssh/sshd.ts';

const sha256 = (bytes: Buffer) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** A real registry of images (Debian's docker-registry) on loopback. */
export interface Registry {
  /** `127.0.0.1:PORT` */
  readonly address: string;
  /** Puts a manifest there under a tag or its digest: returns the digest. */
  push(repository: string, tag: string, manifest: object): Promise<string>;
  /** Puts an object there: returns its digest. */
  pushBlob(repository: string, bytes: Buffer): Promise<string>;
}

/**
 * Starts a registry for the running test.
 *
 * @param options `tokens`: whether readers need a token, which a server beside it gives anybody, as
 * that of Docker Hub does
 */
export async function startRegistry({ tokens = false } = {}): Promise<Registry> {
  installMissing([['/usr/bin/docker-registry', 'docker-registry']]);
  const folder = temporaryDirectory();
  const address = `127.0.0.1:${await freePort()}`;
  const settings = [
    'version: 0.1',
    'log: { level: error }',
    `storage: { filesystem: { rootdirectory: ${folder}/images } }`,
    `http: { addr: "${address}" }`,
  ];
  if (tokens) {
    const realm = await startTokens(folder);
    settings.push(
      `auth: { token: { realm: "${realm}", service: images, issuer: test, rootcertbundle: ${folder}/tokens.crt } }`,
    );
  }
  const config = join(folder, 'config.yml');
  writeFileSync(config, settings.map((line) => `${line}\n`).join(''));
  const running = spawn('/usr/bin/docker-registry', ['serve', config], { stdio: 'ignore' });
  onTestFinished(() => void running.kill());
  const api = `http://${address}/v2`;
  while (!(await fetch(`${api}/`).catch(() => undefined))) await delay(50);

  const ask = async (url: string, method: string, body?: Buffer, type = 'application/octet-stream') => {
    const send = (more: Record<string, string>) =>
      fetch(url, {
        method,
        headers: { 'Content-Type': type, ...more },
        ...(body && { body: new Uint8Array(body) }),
      });
    const first = await send({});
    const answer = first.status === 401 ? await send(await authorized(first)) : first;
    if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  return {
    address,
    async push(repository, tag, manifest) {
      const bytes = Buffer.from(JSON.stringify(manifest));
      const type = 'application/vnd.oci.image.manifest.v1+json';
      await ask(`${api}/${repository}/manifests/${tag}`, 'PUT', bytes, type);
      return sha256(bytes);
    },
    async pushBlob(repository, bytes) {
      const { headers } = await ask(`${api}/${repository}/blobs/uploads/`, 'POST');
      await ask(`${headers.get('location')}&digest=${sha256(bytes)}`, 'PUT', bytes);
      return sha256(bytes);
    },
  };
}

async function authorized(answer: Response) {
  const demand = answer.headers.get('www-authenticate') ?? '';
  const of = (name: string) => new RegExp(`${name}="([^"]*)"`).exec(demand)?.[1] ?? '';
  const given = await fetch(`${of('realm')}?service=${of('service')}&scope=${of('scope')}`);
  return { Authorization: `Bearer ${((await given.json()) as { token: string }).token}` };
}

/** Gives a token for all that is asked for: https://distribution.github.io/distribution/spec/auth/jwt/ */
async function startTokens(folder: string): Promise<string> {
  const [key, certificate] = [join(folder, 'tokens.key'), join(folder, 'tokens.crt')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const made = ['req', '-x509', ...curve, '-subj', '/CN=tokens', '-keyout', key, '-out', certificate];
  execFileSync('openssl', made, { stdio: 'ignore' });
  const chain = new X509Certificate(readFileSync(certificate)).raw.toString('base64');
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const server = createServer(({ url = '' }, response) => {
    const [type = '', name = '', actions = ''] =
      new URL(url, 'http://localhost').searchParams.get('scope')?.split(':') ?? [];
    const now = Math.floor(Date.now() / 1000);
    const times = { iat: now - 60, nbf: now - 60, exp: now + 600 };
    const access = [{ type, name, actions: actions.split(',') }];
    const header = encoded({ typ: 'JWT', alg: 'ES256', x5c: [chain] });
    const text = `${header}.${encoded({ iss: 'test', sub: '', aud: 'images', jti: '1', ...times, access })}`;
    const by = { key: readFileSync(key), dsaEncoding: 'ieee-p1363' as const };
    const signature = sign('sha256', Buffer.from(text), by).toString('base64url');
    response.end(JSON.stringify({ expires_in: 600, token: `${text}.${signature}` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
}
