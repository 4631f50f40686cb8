import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { newAuthority, newKey, newServerCertificate } from '../../lib/node/encryption/openssl.ts';
import { type EncryptedServer, encryptedServer } from '../kinds/encrypted-server.ts';
import { machine } from './page.ts';

/** Rounds of each workload; plain text and encryption take turns, so that both meet the same machine. */
const rounds = 5;

/** Of one round. Seconds. */
const duration = 6;

const pgbench = '/usr/lib/postgresql/15/bin/pgbench';

/** What clients do, and the number that it yields: more is better. */
const workloads = {
  'short queries, 8 connections (queries a second)': (words: string) =>
    `${pgbench} -n -S -c 8 -j 2 -T ${duration} "${words}" | sed -n 's/^tps = \\([0-9.]*\\).*/\\1/p'`,
  'a new connection for each query (queries a second)': (words: string) =>
    `${pgbench} -n -S -C -c 2 -T ${duration} "${words}" | sed -n 's/^tps = \\([0-9.]*\\).*/\\1/p'`,
  'rows in bulk, 1 connection (MB a second)': (words: string) =>
    `start=$(date +%s%N); bytes=$(psql -XqAt "${words}" -c 'copy pgbench_accounts to stdout' | wc -c)
     echo "$bytes $(($(date +%s%N) - start))" | awk '{ print $1 / 1e6 / ($2 / 1e9) }'`,
} as const;

/** Sets up a server that offers encryption, with data of pgbench. */
async function prepared(): Promise<{ server: EncryptedServer; verifying: string; plain: string }> {
  const server = await encryptedServer();
  const key = newKey();
  const certificate = await newAuthority('bench', key);
  const [ca, own] = [join(server.folder, 'ca.pem'), join(server.folder, 'server.pem')];
  writeFileSync(ca, certificate);
  writeFileSync(own, (await newServerCertificate({ certificate, key }, [server.address])).reveal());
  await server.onHost(`chgrp postgres ${own} && chmod 640 ${own}`);
  await server.start({ ssl: 'on', ssl_cert_file: own, ssl_key_file: own, shared_buffers: '256MB' });
  await server.onHost(
    `psql -Xq -U state_user -d postgres -c "alter role state_user password 'x'" && ${pgbench} -q -i -s 10 -U state_user postgres 2>/dev/null >/dev/null`,
  );
  const words = `host=${server.address} user=state_user password=x dbname=postgres`;
  return {
    server,
    plain: `${words} sslmode=disable`,
    verifying: `${words} sslmode=verify-full sslrootcert=${ca}`,
  };
}

const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

/** Measures all workloads, and returns the rows of a table, and below them the machine and its load. */
export async function measureEncryption(): Promise<readonly string[]> {
  const [load = 0] = loadavg();
  const { server, plain, verifying } = await prepared();
  try {
    const lines = ['| Workload | plain text | encrypted and verified | |', '|---|---|---|---|'];
    for (const [name, script] of Object.entries(workloads)) {
      const seen = { plain: [] as number[], verifying: [] as number[] };
      for (let round = 0; round < rounds; round += 1) {
        for (const [kind, words] of Object.entries({ plain, verifying })) {
          const said = await server.onClient(script(words));
          const value = Number(said.trim());
          if (!(value > 0)) throw new Error(`${name}: ${said}`);
          seen[kind as keyof typeof seen].push(value);
        }
      }
      const [before, after] = [median(seen.plain), median(seen.verifying)];
      const show = (value: number) => Math.round(value).toLocaleString('en');
      const percent = Math.round((100 * after) / before);
      lines.push(`| ${name} | ${show(before)} | ${show(after)} | ${percent} % |`);
    }
    const day = new Date().toISOString().slice(0, 10);
    return [...lines, '', `${day}, ${rounds} rounds. ${machine}, load average ${load.toFixed(1)} before.`];
  } finally {
    server.remove();
  }
}
