import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';

/**
 * Starts a registry on loopback for the running test: its certificate is by no authority that this
 * machine knows, and it answers those alone who have one, too.
 *
 * @returns its address, and a folder as the engine has it: with ca.crt, client.cert and client.key
 */
export async function startPrivateRegistry(): Promise<{
  readonly url: string;
  readonly certificates: string;
}> {
  const certificates = temporaryDirectory();
  const [ca, certificate, key] = ['ca.crt', 'client.cert', 'client.key'].map((name) =>
    join(certificates, name),
  ) as [string, string, string];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const names = ['-subj', '/CN=registry', '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', '-x509', ...curve, ...names, '-keyout', key, '-out', ca], {
    stdio: 'ignore',
  });
  copyFileSync(ca, certificate);
  const [cert, own] = [ca, key].map((path) => readFileSync(path));
  const server = createServer({ cert, key: own, ca: cert, requestCert: true }, (_, response) =>
    response.end('{}'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v2/`, certificates };
}
