import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { describeUnmet, isWarning, ok } from '../../engine/resource/resource.ts';
import { localHost } from '../testing/local-host.ts';
import { contextOf } from '../testing/role-context.ts';
import { chainsAreOfPublicAuthorities } from './authorities.ts';

/** A server of 127.0.0.1 with a certificate of its own, and folders with and without that. */
async function chain() {
  const folder = temporaryDirectory();
  const at = (name: string) => join(folder, name);
  for (const name of ['with', 'without', 'none']) mkdirSync(at(name));
  const make = (name: string, ...more: readonly string[]) =>
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
        .concat(['-subj', '/CN=company', '-keyout', at('key'), '-out', at(name)])
        .concat(more),
      { stdio: 'ignore' },
    );
  make('without/other.crt');
  make('with/company.crt', '-addext', 'subjectAltName=IP:127.0.0.1');
  const server = createServer(
    { key: readFileSync(at('key')), cert: readFileSync(at('with/company.crt')) },
    (_, response) => response.end('{}'),
  );
  onTestFinished(() => void server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/KEY-7`, at };
}

test('a certificate by an authority that was added to the server is a warning, as containers do not have it', async () => {
  const { url, at } = await chain();
  const judged = async (added: string, own: string, there = '') => {
    const network = { trusted_sequencer_url: url, l1_rpc_url: url };
    const context = await contextOf({ network });
    const resource = chainsAreOfPublicAuthorities(context, { added: at(added), own: at(own) });
    const verdict = await resource.check(localHost('', { sha256: async () => there }));
    return { verdict, warns: isWarning(resource, verdict), words: describeUnmet(resource, verdict) };
  };
  const company = await judged('with', 'without');
  expect(company.warns).toBe(true);
  expect(company.words.replaceAll(/127\.0\.0\.1:\d+/g, 'HOST').replaceAll(at('with'), 'ADDED')).toBe(
    `https://HOST: this server trusts the certificate by an authority in ADDED alone, which its containers do not have
unless images.node has that authority, sync and json-rpc end at each start: use an image that has it, or an address with a certificate of a public authority`,
  );
  expect((await judged('without', 'with')).verdict).toEqual(ok);
  expect((await judged('none', 'without')).verdict).toEqual(ok);
  expect((await judged('with', 'without', 'a'.repeat(64))).verdict).toEqual(ok);
});
