import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createConnection } from '../../lib/engine/host/create-connection.ts';
import { hostOver, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { acmeProgram } from '../../lib/node/gateway/paths.ts';
import { programTransport } from '../program-transport.ts';
import { until } from './gateway.ts';

/** This machine as a gateway, with files of its own. */
export interface AcmeHost {
  /** Words in front of a program that runs there. */
  readonly inside: readonly string[];
  readonly writer: TestHost;
  /** Folder that is first in its PATH. */
  readonly bin: string;
}

/** Starts programs in a folder, which end with the test. SHOW=1 shows what they print. */
export type Start = (
  program: string,
  words: readonly string[],
  env?: Readonly<Record<string, string>>,
) => ChildProcess;

/** @param programs where each is added */
export function starter(folder: string, programs: ChildProcess[]): Start {
  return (program, words, env = {}) => {
    const out = process.env.SHOW ? 'inherit' : 'ignore';
    const started = spawn(program, words, {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', out, out],
    });
    programs.push(started);
    return started;
  };
}

/** A key and a self-signed certificate for ACME servers of a test, as `acme.key` and `acme.crt`. */
export function makeAcmeCertificate(folder: string): void {
  const subject = ['-subj', '/CN=pebble', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  const files = ['-keyout', 'acme.key', '-out', 'acme.crt'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject, ...files], {
    cwd: folder,
    stdio: 'pipe',
  });
}

/**
 * Starts Pebble, a server of ACME for tests, without pauses before a validation, without reuse of
 * an earlier one, and without the nonces that it refuses by chance: certbot repeats a request once.
 */
export async function startPebble(
  start: Start,
  folder: string,
  server: { readonly acme: number; readonly roots: number; readonly dns: number },
  challengePort: number,
): Promise<void> {
  const settings = {
    listenAddress: `127.0.0.1:${server.acme}`,
    managementListenAddress: `127.0.0.1:${server.roots}`,
    certificate: 'acme.crt',
    privateKey: 'acme.key',
    httpPort: challengePort,
    tlsPort: 1,
  };
  const file = `pebble-${server.acme}.json`;
  await writeFile(join(folder, file), JSON.stringify({ pebble: settings }));
  const env = { PEBBLE_VA_NOSLEEP: '1', PEBBLE_AUTHZREUSE: '0', PEBBLE_WFE_NONCEREJECT: '0' };
  start('pebble', ['-config', file, '-dnsserver', `127.0.0.1:${server.dns}`], env);
}

/** The certificate that signs those of Pebble, in PEM, once Pebble is there. */
export async function pebblesRoot(folder: string, port: number): Promise<string> {
  let root = '';
  const words = ['-sSf', '--cacert', join(folder, 'acme.crt'), `https://127.0.0.1:${port}/roots/0`];
  const asked = async () => {
    root = execFileSync('curl', words, { encoding: 'utf8', stdio: 'pipe' });
    return root !== '';
  };
  await until(asked, 'Pebble is there', 60);
  return root;
}

/**
 * This machine with files of its own under /etc, /run, /usr/local/lib, /var/lib and /var/log, and
 * with the folder of a gateway. It trusts `acme.crt` of the folder.
 *
 * @param folder of the test, which stays as it is
 * @param programs where what holds the files is added
 */
export async function startAcmeHost(
  name: string,
  folder: string,
  programs: ChildProcess[],
): Promise<AcmeHost> {
  const bin = join(folder, name);
  await mkdir(bin);
  const script = join(folder, 'acme.sh');
  await copyFile(fileURLToPath(new URL('../../templates/host/acme.sh', import.meta.url)), script);
  const own = ['etc', 'usr/local/lib', 'var/lib', 'var/log'];
  const mounts = `
    mount --make-rprivate / && mount -t tmpfs acme /mnt
    for each in ${own.join(' ')}; do
      mkdir -p /mnt/up/$each /mnt/work/$each
      mount -t overlay -o lowerdir=/$each,upperdir=/mnt/up/$each,workdir=/mnt/work/$each acme /$each
    done
    mount -t tmpfs acme /run && mkdir -p /run/haproxy /etc/rpc-node/gateway ${acmeProgram.replace(/[^/]+$/, '')}
    cp ${script} ${acmeProgram} && chmod 755 ${acmeProgram}
    cat ${folder}/acme.crt >> /etc/ssl/certs/ca-certificates.crt
    touch ${bin}/ready && exec sleep infinity`;
  const holder = spawn('unshare', ['--mount', 'setpriv', '--pdeathsig', 'KILL', 'sh', '-euc', mounts], {
    stdio: 'inherit',
  });
  programs.push(holder);
  await until(async () => existsSync(join(bin, 'ready')), 'the host is there', 60);
  const inside = ['nsenter', `--target=${holder.pid}`, '--mount'];
  const env = { ...process.env, LC_ALL: 'C', PATH: `${bin}:${process.env.PATH}` };
  const transport = programTransport(() => ({ words: [...inside, 'sh', '-c'], env }));
  const writer = hostOver(createConnection(name, transport, { prefix: '', password: undefined }));
  return { inside, bin, writer };
}
