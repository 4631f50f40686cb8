import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Problem } from '../../lib/engine/problem/problem.ts';
import type { Resource } from '../../lib/engine/resource/resource.ts';
import type { Context } from '../../lib/engine/resource/role.ts';
import { applyDrift } from '../../lib/engine/resource/testing/test-host.ts';
import { bytesOf, type Secret } from '../../lib/engine/secret/secret.ts';
import { serverFile, trustedFile, verifyingWords } from '../../lib/node/databases/tls-files.ts';
import { readServerCertificate } from '../../lib/node/encryption/certificate.ts';
import { encryptionIsDemanded, encryptionIsOptional } from '../../lib/node/encryption/demanded.ts';
import { newAuthority, newKey, newServerCertificate } from '../../lib/node/encryption/openssl.ts';
import { encryptionOf } from '../../lib/node/encryption/server.ts';
import { replicasMayCopy } from '../../lib/node/replica/source.ts';
import { judgeCertificate } from '../../lib/node/status/certificate.ts';
import { contextOf } from '../../lib/node/testing/role-context.ts';
import type { Authority, Variables } from '../../lib/node/variables/variables.ts';
import { inEveryForm } from '../faults/seed.ts';
import { converge } from './converge.ts';
import { type EncryptedServer, encryptedServer } from './encrypted-server.ts';

// A real PostgreSQL, real certificates, and clients on another host.

let server: EncryptedServer;
let key: Secret;
let context: Context<Variables>;
let plain: Context<Variables>;

const encrypted = { ssl: 'on', ssl_cert_file: serverFile, ssl_key_file: serverFile };
const password =
  'PGPASSWORD=state.Pw~1 psql -XAtq -c "select ssl from pg_stat_ssl where pid = pg_backend_pid()"';
/** What a client on the other host gets: t or f for an encrypted connection, or why it has none. */
const connect = (words: string) =>
  server.onClient(`${password} "user=state_user dbname=state_db connect_timeout=10 ${words}"`);
const atServer = (words: string) => connect(`host=${server.address} ${words}`);

function withAuthority(tls: Authority): Context<Variables> {
  const vars = { ...plain.vars, tls };
  return { ...plain, vars, host: { ...plain.host, vars } };
}

function authority(certificate: string, own: Secret, others = ''): Authority {
  return { certificate, trusted: certificate + others, key: own };
}

beforeAll(async () => {
  server = await encryptedServer();
  await server.start();
  await server.onHost(
    `psql -Xq -U state_user -d postgres -c "alter role state_user password 'state.Pw~1'" -c 'create database state_db'`,
  );
}, 120_000);

afterAll(() => server.remove());

async function convergeAll(resources: readonly Resource[]) {
  for (const each of resources) await converge(server.host, each);
}

/** The other host knows the authorities of a deployment. */
function trust({ vars }: Context<Variables>): string {
  const file = join(server.folder, 'ca.pem');
  writeFileSync(file, vars.tls?.trusted ?? '');
  return verifyingWords(vars).replace(trustedFile, file);
}

const serial = async () => new X509Certificate(await readServerCertificate(server.host)).serialNumber;

/** The deployment without encryption, and with it. */
async function loadDeployments() {
  process.env.REPLICA_PASSWORD = 'replica.Pw~5';
  const group_id = Number(execFileSync('id', ['-g', 'postgres'], { encoding: 'utf8' }));
  plain = await contextOf({
    changes: [
      [['groups', 'database', 'db-1', 'address'], server.address],
      [['groups', 'rpc'], { 'rpc-1': { address: '10.77.0.3' } }],
      [['groups', 'replica'], { 'replica-1': { address: server.clientAddress } }],
      [['vars', 'replica'], { password: 'env:REPLICA_PASSWORD' }],
      [['vars', 'state_db', 'group_id'], group_id],
    ],
  });
  key = newKey();
  context = withAuthority(authority(await newAuthority('lab', key), key));
}

test('without tls in the inventory one look at a file is all', async () => {
  await loadDeployments();
  const { before, after } = encryptionOf(plain);
  const seen = await Promise.all([...before, ...after].map((each) => each.check(server.host)));
  expect(seen).toEqual([{ is: 'ok' }, { is: 'ok' }, { is: 'ok' }]);
  expect(await atServer('sslmode=prefer')).toBe('f\n');
});

test('a server gets its certificate before it encrypts, and PostgreSQL starts with it', async () => {
  const { before, after } = encryptionOf(context);
  // Plain text is refused only by a server that can do otherwise.
  expect(await encryptionIsDemanded(context).check(server.host)).toMatchObject({
    note: 'state-db offers no encryption',
  });
  await expect(applyDrift(server.host, encryptionIsDemanded(context))).rejects.toThrow(
    'state-db offers no encryption',
  );
  await convergeAll(before);
  expect(await server.onHost(`stat -c '%a %U %G' ${serverFile}`)).toBe('640 root postgres\n');
  expect(await after[0]?.check(server.host)).toMatchObject({
    note: 'it runs without encryption: its Compose file has no ssl=on',
  });
  await server.start(encrypted);
  expect(await Promise.all([...before, ...after].map((each) => each.check(server.host)))).toEqual(
    [...before, ...after].map(() => ({ is: 'ok' })),
  );
  // The real node and prover: libpq and pgx encrypt if they can.
  expect(await atServer('')).toBe('t\n');
  expect(await judgeCertificate(server.host, context.host)).toEqual([]);
});

test('a client refuses the certificate of a stranger, and one for another name', async () => {
  expect(await atServer(trust(context))).toBe('t\n');
  const strange = newKey();
  const stranger = authority(await newAuthority('stranger', strange), strange);
  expect(await atServer(trust({ ...context, vars: { ...context.vars, tls: stranger } }))).toContain(
    'certificate verify failed',
  );
  const elsewhere = `host=db-9 hostaddr=${server.address} ${trust(context)}`;
  expect(await connect(elsewhere)).toMatch(/server certificate for .* does not match host name "db-9"/);
});

test('plain text from other hosts is refused, and that of the host itself is not', async () => {
  expect(await atServer('sslmode=disable')).toBe('f\n');
  await converge(server.host, encryptionIsDemanded(context));
  expect(await atServer('sslmode=disable')).toMatch(
    /pg_hba.conf rejects connection for host "10.77.0.2".* no encryption/,
  );
  expect(await atServer('sslmode=prefer')).toBe('t\n');
  expect(await atServer(trust(context))).toBe('t\n');
  const own = `${password} "host=127.0.0.1 user=state_user dbname=state_db sslmode=disable"`;
  expect(await server.onHost(own)).toBe('f\n');
  // Somebody's line in front would let plain text in.
  await server.onHost(`sed -i '1i host all all all scram-sha-256' ${server.folder}/data/pg_hba.conf`);
  expect(await encryptionIsDemanded(context).check(server.host)).toMatchObject({
    note: 'lines of pg_hba.conf are before those that demand encryption',
  });
  await applyDrift(server.host, encryptionIsDemanded(context));
  expect(await encryptionIsDemanded(context).check(server.host)).toEqual({ is: 'ok' });
  expect(await server.onHost(`grep -c '^host all all all scram' ${server.folder}/data/pg_hba.conf`)).toBe(
    '2\n',
  );
});

const killers = () => join(server.folder, 'killers');
const hba = () => `${server.folder}/data/pg_hba.conf`;

/**
 * Makes the change of a resource, and ends it by SIGKILL at the start of its program of a number,
 * of those that change the file or have the server read it.
 *
 * @returns whether it has so many
 */
async function killedAt(number: number, { check }: Resource): Promise<boolean> {
  const verdict = await check(server.host);
  const change = verdict.is === 'drift' ? verdict.change : undefined;
  const [step] = change && !(change instanceof Problem) ? change : [];
  if (step?.do !== 'run') throw new Error('it makes no change');
  const input = step.stdin === undefined ? '' : bytesOf(step.stdin).toString();
  writeFileSync(join(server.folder, 'step'), step.command);
  writeFileSync(join(server.folder, 'input'), input);
  const said = await server.onHost(`cd ${server.folder}; echo ${number} >number; : >begun; chmod 666 begun
    PATH=${killers()}:$PATH setsid --wait sh step <input 2>&1 || true; echo; wc -l <begun`);
  return Number(said.trim().split('\n').at(-1)) >= number;
}

function makeKillers() {
  mkdirSync(killers());
  const killer = `#!/bin/bash
name=\${0##*/}
case "$name $*" in
  psql*pg_reload_conf* | [^p]*)
    echo "$name" >>${server.folder}/begun
    [ "$(/usr/bin/wc -l <${server.folder}/begun)" -lt "$(<${server.folder}/number)" ] || kill -9 0 ;;
esac
exec /usr/bin/"$name" "$@"
`;
  for (const name of ['cat', 'chmod', 'mv', 'psql', 'rm', 'sync'])
    writeFileSync(join(killers(), name), killer, { mode: 0o755 });
}

test('a change of pg_hba.conf that is killed anywhere leaves the old file or the new one, and the next run ends it', async () => {
  makeKillers();
  const text = () => readFileSync(hba(), 'utf8');
  await server.onHost(`chmod 640 ${hba()}`);
  const alone = { ...context, hosts: context.hosts.filter(({ groups }) => !groups.includes('replica')) };
  const changes = [
    [encryptionIsOptional(plain, false), encryptionIsDemanded(context)],
    [replicasMayCopy(alone), replicasMayCopy(context)],
  ] as const;
  const put = async (lines: Resource) => {
    await applyDrift(server.host, lines);
    expect(await lines.check(server.host)).toEqual({ is: 'ok' });
  };
  for (const [without, withLines] of changes) {
    await put(withLines);
    const wanted = text();
    await put(without);
    const was = text();
    for (let number = 1; await killedAt(number, withLines); number += inEveryForm ? 1 : 3) {
      expect([was, wanted]).toContain(text());
      expect(await server.onHost(`stat -c '%a %U %G' ${hba()}`)).toBe('640 postgres postgres\n');
      const { is } = await withLines.check(server.host);
      if (is === 'ok') expect(await atServer('sslmode=disable')).toContain('pg_hba.conf rejects connection');
      else await put(withLines);
      expect(text()).toBe(wanted);
      await put(without);
    }
    await put(withLines);
  }
  await put(replicasMayCopy(alone));
  await server.start(encrypted);
  expect(await atServer(trust(context))).toBe('t\n');
});

test('a copy for a replica is encrypted and verified, and has no key in it', async () => {
  await converge(server.host, replicasMayCopy(context));
  // In containers PostgreSQL may have the HOME of root.
  const copy = (words: string) =>
    server.onClient(`rm -rf ${server.folder}/copy; mkdir ${server.folder}/copy; chown postgres: ${server.folder}/copy
      PGPASSWORD=replica.Pw~5 HOME=/root setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/15/bin/pg_basebackup \
      -D ${server.folder}/copy -R --checkpoint=fast --dbname="host=${server.address} user=rpc_node_replica ${words}" && echo copied`);
  expect(await copy('sslmode=disable')).toContain('pg_hba.conf rejects replication connection');
  expect(verifyingWords(context.vars)).toBe(
    'sslmode=verify-full sslrootcert=/etc/rpc-node/tls/ca.pem sslcert=/etc/rpc-node/tls/no-client-certificate',
  );
  expect(await copy(trust(context))).toBe('copied\n');
  expect(await server.onClient(`grep -rl 'PRIVATE KEY' ${server.folder}/copy`)).toBe('');
  expect(await server.onClient(`grep -c verify-full ${server.folder}/copy/postgresql.auto.conf`)).toBe('1\n');
});

test('a certificate that ends is renewed, and a reload cuts nobody off', async () => {
  const { before, after } = encryptionOf(context);
  const [certificate, inUse] = [before.at(-1) as Resource, after[0] as Resource];
  const expired = join(server.folder, 'expired');
  const ca = context.vars.tls as Authority;
  // Signed again with an end in the past.
  writeFileSync(`${expired}.ca`, ca.certificate);
  writeFileSync(`${expired}.key`, ca.key.reveal());
  await server.onHost(`cd /run && sed '/BEGIN CERT/,$d' ${serverFile} >k && openssl req -new -key k -subj /CN=x -out r
    openssl x509 -in ${serverFile} -noout -ext subjectAltName | sed 's/^ *//; 1s/.*/subjectAltName = \\\\/; s/IP Address/IP/g' >e
    openssl x509 -req -in r -CA ${expired}.ca -CAkey ${expired}.key -set_serial 7 -days -1 -extfile e -out c 2>&1
    cat k c >${serverFile}; rm k c r e ${expired}.key; sleep 1`);
  expect(await inUse.check(server.host)).toMatchObject({ note: 'it has read an earlier one' });
  await converge(server.host, inUse);
  expect(await atServer(trust(context))).toContain('certificate verify failed');
  const [finding] = await judgeCertificate(server.host, context.host);
  expect(finding?.says).toMatch(
    /^state-db: its certificate does not do: it was valid until .*; a deploy makes a new one$/,
  );

  const held = server.onClient(
    `${password.replace('-c "', '-c "select pg_sleep(6); ')} "host=${server.address} user=state_user dbname=state_db"`,
  );
  const before_ = await serial();
  await converge(server.host, certificate);
  await converge(server.host, inUse);
  expect(await serial()).not.toBe(before_);
  expect(await atServer(trust(context))).toBe('t\n');
  expect((await held).trim()).toBe('t');
});

test('an authority is replaced while clients trust both', async () => {
  const next = newKey();
  const old = context.vars.tls as Authority;
  const tls = authority(await newAuthority('lab', next), next, old.certificate);
  const former = trust(context);
  context = withAuthority(tls);
  const both = () => trust(context);
  // The trusting file comes first: both certificates do.
  expect(await atServer(both())).toBe('t\n');
  const { before, after } = encryptionOf(context);
  expect(await before.at(-1)?.check(server.host)).toMatchObject({ note: 'another authority has signed it' });
  await applyDrift(server.host, before[1] as Resource);
  await converge(server.host, before.at(-1) as Resource);
  await converge(server.host, after[0] as Resource);
  expect(await atServer(both())).toBe('t\n');
  writeFileSync(join(server.folder, 'ca.pem'), old.certificate);
  expect(await atServer(former)).toContain('certificate verify failed');
});

test('a key that PostgreSQL could not read is found before it is asked to', async () => {
  const wrong = {
    ...context,
    vars: { ...context.vars, state_db: { ...context.vars.state_db, group_id: 0 } },
  };
  const certificate = encryptionOf(wrong).before.at(-1) as Resource;
  const before = await serial();
  await expect(applyDrift(server.host, certificate)).rejects.toThrow(
    /^the user postgres of .* cannot read its key, which group 0 may read: /,
  );
  expect([await serial(), await server.onHost('ls /etc/rpc-node/tls')]).toEqual([
    before,
    'ca.pem\nserver.pem\n',
  ]);
});

test('after tls has left the inventory, plain text is let in before the server stops to encrypt', async () => {
  const { before, after } = encryptionOf(plain);
  await convergeAll(before);
  expect(await atServer('sslmode=disable')).toBe('f\n');
  await server.start();
  await converge(server.host, after.at(-1) as Resource);
  expect(await server.onHost('ls -A /etc/rpc-node')).toBe('');
  expect(await atServer('')).toBe('f\n');
});

test('a certificate that is too short for its authority is not made longer', async () => {
  const soon = await newAuthority('lab', key, 40);
  const made = await newServerCertificate({ certificate: soon, key }, ['10.0.0.1']);
  const days = (Date.parse(new X509Certificate(made.reveal()).validTo) - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(39);
});
