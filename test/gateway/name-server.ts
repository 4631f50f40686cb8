import { type ChildProcess, execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Start } from './acme-host.ts';
import { until } from './gateway.ts';

/** A TSIG key (RFC 8945). */
export interface TsigKey {
  readonly name: string;
  /** In base64. */
  readonly secret: string;
}

export const newTsigKey = (name: string): TsigKey => ({ name, secret: randomBytes(32).toString('base64') });

/** BIND with the zone `example.`, which takes updates of TXT records with a key. */
export interface NameServer {
  /** TXT records of a name, by default of the primary server. */
  records(name: string, port?: number): readonly string[];
  /** Adds a record, as a client that does not remove it. */
  add(name: string, text: string): void;
  /** Tells the secondary server that there is something new. */
  tell(): void;
  /** Takes updates with another key from now on; BIND starts again with its zone. */
  useKey(key: TsigKey): Promise<void>;
  stop(): Promise<void>;
}

interface Ports {
  /** Of the server that takes the updates. */
  readonly primary: number;
  /** Of the server that gets them from it, once it is told. */
  readonly secondary: number;
}

/** Two servers of one zone: a provider's servers do not have a record at the same time, either. */
export async function startNameServer(
  start: Start,
  folder: string,
  ports: Ports,
  first: TsigKey,
): Promise<NameServer> {
  let key = first;
  const zone = '$TTL 1\n@ SOA ns. ops. 1 3600 1 3600 1\n@ NS ns.example.\nns A 127.0.0.1\n';
  const startOne = (name: string) => start('named', ['-4', '-f', '-c', join(folder, name, 'named.conf')]);
  for (const name of ['primary', 'secondary']) await mkdir(join(folder, name));
  await writeFile(join(folder, 'primary/example.zone'), zone);
  const writePrimary = () =>
    writeFile(
      join(folder, 'primary/named.conf'),
      `${optionsOf(join(folder, 'primary'), ports.primary)}
key "${key.name}" { algorithm hmac-sha256; secret "${key.secret}"; };
zone "example" {
  type primary; file "example.zone"; notify no; allow-transfer { any; };
  update-policy { grant ${key.name} wildcard *.example. txt; };
};\n`,
    );
  await writePrimary();
  await writeFile(
    join(folder, 'secondary/named.conf'),
    `${optionsOf(join(folder, 'secondary'), ports.secondary)}
zone "example" { type secondary; file "example.zone"; primaries { 127.0.0.1 port ${ports.primary}; }; };\n`,
  );
  const answers = (port: number) =>
    until(async () => dig(port, 'ns.example', 'A') !== '', 'BIND answers', 30);
  let primary = startOne('primary');
  await answers(ports.primary);
  startOne('secondary');
  await answers(ports.secondary);
  const stop = () => ended(primary);
  return {
    records: (name, port = ports.primary) => dig(port, name, 'TXT').split('\n').filter(Boolean),
    add(name, text) {
      const update = `server 127.0.0.1 ${ports.primary}\nkey hmac-sha256:${key.name} ${key.secret}\nupdate add ${name} 1 TXT ${text}\nsend\n`;
      execFileSync('nsupdate', { input: update, stdio: 'pipe' });
    },
    tell: () => void dig(ports.secondary, 'example', 'SOA', '+opcode=notify', '+aaflag'),
    async useKey(other) {
      key = other;
      await stop();
      await writePrimary();
      primary = startOne('primary');
      await answers(ports.primary);
    },
    stop,
  };
}

const optionsOf = (folder: string, port: number) => `options {
  directory "${folder}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; };
  recursion no; pid-file none; session-keyfile none; dnssec-validation no; minimal-responses yes;
};
controls { };`;

const dig = (port: number, name: string, type: string, ...options: readonly string[]) =>
  execFileSync(
    'dig',
    [...options, '+short', '+time=1', '+tries=1', '-p', String(port), '@127.0.0.1', name, type],
    { encoding: 'utf8', stdio: 'pipe' },
  );

async function ended(program: ChildProcess): Promise<void> {
  const exit = new Promise((resolve) => program.once('exit', resolve));
  program.kill('SIGTERM');
  await exit;
}
