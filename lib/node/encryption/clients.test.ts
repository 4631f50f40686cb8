import { expect, test, vi } from 'vitest';
import backup from '../../../roles/backup.ts';
import certificateAuthority from '../../../roles/certificate-authority.ts';
import encryption from '../../../roles/encryption.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { connectionToServer } from '../backup/settings.ts';
import { renderHost } from '../render/render.ts';
import { followsTheServer } from '../replica/follows.ts';
import { judgeCertificate } from '../status/certificate.ts';
import type { Changes } from '../testing/lab-deployment.ts';
import { contextOf } from '../testing/role-context.ts';
import { encryptionIsDemanded } from './demanded.ts';
import { namesOfServer } from './names.ts';
import { newServerCertificate } from './openssl.ts';
import { authorityFiles } from './testing/authority.ts';

const verifying =
  'sslmode=verify-full sslrootcert=/etc/rpc-node/tls/ca.pem sslcert=/etc/rpc-node/tls/no-client-certificate';

process.env.COPY_PASSWORD = 'copy.Pw~4567';
const copies: Changes = [
  [['groups', 'backup'], { 'backup-1': { address: '10.0.0.7' } }],
  [['groups', 'replica'], { 'replica-1': { address: 'fd00::8' } }],
  [['vars', 'backup'], { password: 'env:COPY_PASSWORD' }],
  [['vars', 'replica'], { password: 'env:COPY_PASSWORD' }],
];

const composed = async (changes: Changes, group?: 'replica') => {
  const { files } = await renderHost(await contextOf({ changes, ...(group && { group }) }));
  return files.find(({ name }) => name === 'docker-compose.yml')?.content.text ?? '';
};

test('the container of a database server gets encryption by its command, and its files by a folder', async () => {
  const { changes } = await authorityFiles();
  for (const group of [undefined, 'replica'] as const) {
    const [without, encrypted] = [
      await composed(copies, group),
      await composed([...copies, ...changes], group),
    ];
    const lines = new Set(without.split('\n'));
    expect(
      encrypted
        .split('\n')
        .filter((line) => !lines.has(line) && !line.includes('config-hash'))
        .map((line) => line.trim()),
    ).toEqual([
      expect.stringMatching(/^# Its certificate and key/),
      '- "/etc/rpc-node/tls:/etc/rpc-node/tls:ro"',
      '- "ssl=on"',
      '- "ssl_cert_file=/etc/rpc-node/tls/server.pem"',
      '- "ssl_key_file=/etc/rpc-node/tls/server.pem"',
    ]);
    expect(without).not.toContain('ssl');
  }
});

test('replicas and backups verify the server, and other clients know the authority', async () => {
  const { changes, certificate } = await authorityFiles();
  const all = [...copies, ...changes];
  const [keeper, replica, rpc] = await Promise.all(
    (['backup', 'replica', 'rpc'] as const).map((group) => contextOf({ changes: all, group })),
  );
  expect(connectionToServer(keeper as never)).toMatch(new RegExp(`connect_timeout=10 ${verifying}$`));
  const file = (await backup.resources(keeper as never)).find(
    ({ name }) => name === 'file /etc/barman.d/state-db.conf',
  );
  const verdict = await file?.check(fakeHost([]));
  const text = verdict?.is === 'drift' ? verdict.differences.map(({ wanted }) => wanted).join('\n') : '';
  expect(text.split('\n').filter((line) => line.includes(verifying))).toHaveLength(2);
  const asked: string[] = [];
  const host = fakeHost([[/standby check/, { exitCode: 1, stderr: 'x' }]], {
    container: async () => runningContainer,
  });
  const follows = await followsTheServer(replica as never).check(host);
  if (follows.is === 'drift' && Array.isArray(follows.change))
    asked.push(...follows.change.map((step) => step.command));
  expect(asked.join()).toContain(verifying);
  const [, trusted] = await certificateAuthority.resources(rpc as never);
  expect(JSON.stringify(await trusted?.check(fakeHost([])))).toContain(
    JSON.stringify(certificate).slice(1, -1),
  );
});

test('plain text is refused from each other host of the inventory', async () => {
  const { changes } = await authorityFiles();
  const host = fakeHost([[/encryption check/, { exitCode: 1, stderr: 'x' }]], {
    container: async () => runningContainer,
  });
  const verdict = await encryptionIsDemanded(await contextOf({ changes: [...copies, ...changes] })).check(
    host,
  );
  const [step] = verdict.is === 'drift' && Array.isArray(verdict.change) ? verdict.change : [];
  expect(step?.command).toMatch(/ encryption apply state_user state_db /);
  const addresses = step?.command.split(' state_db ').at(-1)?.split(/\s+/).toSorted();
  expect(addresses).toEqual(['10.0.0.7/32', '172.30.77.12/32', '172.30.77.13/32', 'fd00::8/128']);
});

test('without tls in the inventory the roles of encryption have nothing', async () => {
  const context = await contextOf({ changes: copies });
  expect([await certificateAuthority.resources(context), await encryption.resources(context)]).toEqual([
    [],
    [],
  ]);
});

test('status names a certificate that is missing, ends soon, or is of another authority', async () => {
  const [ours, theirs] = [await authorityFiles(), await authorityFiles()];
  const { host } = await contextOf({ changes: ours.changes });
  const says = async (text: string) =>
    (await judgeCertificate(fakeHost([[/sed -n/, text]]), host)).map((finding) => [
      finding.fault,
      finding.says,
    ]);
  const made = (await newServerCertificate(ours, namesOfServer(host))).reveal();
  const strange = (await newServerCertificate(theirs, namesOfServer(host))).reveal();
  expect(await says(made)).toEqual([]);
  expect(await says('')).toEqual([[true, 'state-db: has no certificate: a deploy makes a new one']]);
  expect(await says(strange)).toEqual([
    [
      true,
      'state-db: its certificate does not do: another authority has signed it; a deploy makes a new one',
    ],
  ]);
  const elsewhere = (await newServerCertificate(ours, ['10.9.9.9'])).reveal();
  expect((await says(elsewhere))[0]?.[1]).toContain('it is not for 172.30.77.11');
  expect((await says('-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----'))[0]?.[1]).toContain(
    'it is no certificate in PEM',
  );
  const day = 86_400_000;
  const now = Date.now();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(now + 340 * day);
  expect(await says(made)).toEqual([
    [
      false,
      expect.stringMatching(/^state-db: its certificate ends on \d{4}-\d\d-\d\d: a deploy makes a new one$/),
    ],
  ]);
  clock.mockReturnValue(now + 366 * day);
  expect((await says(made))[0]).toEqual([true, expect.stringContaining('it was valid until')]);
  clock.mockRestore();
});
