import { expect, test } from 'vitest';
import certificateAuthority from '../../../roles/certificate-authority.ts';
import preflight from '../../../roles/preflight.ts';
import type { Resource } from '../../engine/resource/resource.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf, type Given, refusal } from '../testing/role-context.ts';
import type { Authority } from '../variables/variables.ts';
import { serverCertificate } from './certificate.ts';
import { namesOfServer } from './names.ts';
import { newServerCertificate } from './openssl.ts';
import { encryptionOf } from './server.ts';
import { authorityFiles } from './testing/authority.ts';

process.env.COPY_PASSWORD = 'copy.Pw~4567';
const copies: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
  [['groups', 'replica'], { 'replica-1': { address: '10.0.0.8' } }],
  [['vars', 'backup'], { password: 'env:COPY_PASSWORD' }],
  [['vars', 'replica'], { password: 'env:COPY_PASSWORD' }],
];

const beforehand = 'clients will know the authority of state-db';
const inTurn = 'clients of state-db know its authority';
const hint =
  'deploy to all hosts and roles: without --limit, --role and --skip-role (docs/encryption.md, "Replace the authority")';
const refused = (names: string) => [
  `state-db would get a certificate of another authority, and this run leaves out ${names}`,
  hint,
];

/** A server with a certificate of the former authority, or of the one that the inventory has. */
async function deployment(given: Given = {}) {
  const [former, ours] = [await authorityFiles(), await authorityFiles()];
  const context = await contextOf({ changes: [...copies, ...ours.changes], ...given });
  const serverWith = async (by: typeof ours) => {
    const made = (await newServerCertificate(by, namesOfServer(context.host))).reveal();
    return fakeHost([[/sed -n/, made]], { stat: async () => ({ ...rootsFile, mode: 0o640, gid: 999 }) });
  };
  return { context, former: await serverWith(former), ours: await serverWith(ours) };
}

const names = (resources: readonly Resource[]) => resources.map(({ name }) => name);

test.each(['database', 'replica'] as const)(
  'a server of group %s gets no certificate of a new authority in a run without a client',
  async (group) => {
    const others = group === 'database' ? 'rpc-1, rpc-2, backup-1, replica-1' : 'rpc-1, rpc-2, backup-1';
    const server = group === 'database' ? 'db-1' : 'replica-1';
    const { context, former, ours } = await deployment({ group, includes: (host) => host === server });
    const requirements = await preflight.resources(context);
    expect(await refusal(requirements, beforehand, former)).toEqual(refused(others));
    const { before } = encryptionOf(context);
    expect(before[0]?.name).toBe(inTurn);
    expect(await refusal(before, inTurn, former)).toEqual(refused(others));
    for (const fine of [ours, fakeHost([])]) expect(await before[0]?.check(fine)).toEqual({ is: 'ok' });
  },
);

test('a run that leaves out the role of the authorities is refused as well', async () => {
  const includes = (_: string, role: string) => role !== 'certificate-authority';
  const { context, former } = await deployment({ includes });
  expect(await refusal(encryptionOf(context).before, inTurn, former)).toEqual(
    refused('rpc-1, rpc-2, backup-1, replica-1'),
  );
});

test('a run of all clients, and one without encryption, asks nothing', async () => {
  const { context } = await deployment();
  const plain = await contextOf({ changes: copies, includes: () => false });
  for (const each of [context, plain]) {
    expect(names(await preflight.resources(each))).not.toContain(beforehand);
    expect(names(encryptionOf(each).before)).not.toContain(inTurn);
  }
});

test('a recovery needs the backup host alone, and a drill brings nothing to it', async () => {
  const both = await deployment({ includes: (host) => host === 'db-1' || host === 'backup-1' });
  const recovery = { ...both.context, given: { 'to-time': 'latest' } };
  expect(names(encryptionOf(recovery).before)).not.toContain(inTurn);
  const alone = { ...recovery, includes: (host: string) => host === 'db-1' };
  expect(await refusal(encryptionOf(alone).before, inTurn, both.former)).toEqual(refused('backup-1'));
  expect(await certificateAuthority.resources(recovery)).toHaveLength(2);
  const drill = { ...recovery, given: { ...recovery.given, drill: '' } };
  expect(await certificateAuthority.resources(drill)).toEqual([]);
});

test('a rollback keeps the certificate of the former authority', async () => {
  const { context, former } = await deployment({ includes: () => false });
  const tls = context.vars.tls as Authority;
  expect(await serverCertificate(context, tls).check(former)).toMatchObject({
    note: 'another authority has signed it',
  });
  const rollback = { ...context, release: { texts: new Map(), pins: new Map() } };
  expect(names(encryptionOf(rollback).before)).not.toContain(inTurn);
  expect(await serverCertificate(rollback, tls).check(former)).toEqual({ is: 'ok' });
});
