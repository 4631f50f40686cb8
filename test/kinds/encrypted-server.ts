import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createConnection } from '../../lib/engine/host/create-connection.ts';
import { runningContainer } from '../../lib/engine/resource/testing/fake-host.ts';
import { hostOver, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { installMissing } from '../install-missing.ts';
import { programTransport } from '../program-transport.ts';
import { type Namespaces, namespaces } from './namespaces.ts';

/** A database server and another host on a private network of two namespaces, with real PostgreSQL. */
export interface EncryptedServer {
  /** The database server's host. Its /etc is an overlay. */
  readonly host: TestHost;
  readonly address: string;
  readonly clientAddress: string;
  /** A folder of this machine that both see. */
  readonly folder: string;
  /** Starts or restarts PostgreSQL, with further settings. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Runs a script on the database server's host. */
  onHost(script: string): Promise<string>;
  /**
   * Runs a script on the other host.
   *
   * @returns what it prints, errors too
   */
  onClient(script: string): Promise<string>;
  remove(): void;
}

const programs = '/usr/lib/postgresql/15/bin';
const asPostgres = 'setpriv --reuid=postgres --regid=postgres --init-groups';

/** In place of docker: the container state-db is the server, and programs of images are this machine's. */
const docker = (folder: string) => `#!/bin/bash
verb=$1; shift
as=
case $verb in
  exec)
    export PGHOST=${folder}/socket
    while :; do
      case $1 in
        -e) export "\${2?}"; shift 2 ;;
        --user) as='${asPostgres}'; shift 2 ;;
        -i) shift ;;
        *) break ;;
      esac
    done
    shift
    exec $as "$@" ;;
  kill) kill -HUP "$(head -n 1 ${folder}/data/postmaster.pid)" ;;
  run) while [ "$1" != --entrypoint ]; do shift; done; exec ${asPostgres} "$2" "\${@:4}" ;;
esac
`;

export async function encryptedServer(): Promise<EncryptedServer> {
  installMissing([
    [`${programs}/postgres`, 'postgresql-15'],
    ['/usr/bin/openssl', 'openssl'],
  ]);
  const folder = mkdtempSync('/var/tmp/encrypted-');
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/docker'), docker(folder), { mode: 0o755 });
  const network = await namespaces();
  const [address, clientAddress] = ['10.77.0.1', '10.77.0.2'];
  await network.run(`
    mkdir /run/upper /run/work && mount -t overlay -o lowerdir=/etc,upperdir=/run/upper,workdir=/run/work overlay /etc
    ip netns add client
    ip link add name eth0 type veth peer name eth0 netns client
    ip address add ${address}/24 dev eth0 && ip link set eth0 up
    ip netns exec client ip address add ${clientAddress}/24 dev eth0 && ip netns exec client ip link set eth0 up
    mkdir ${folder}/data ${folder}/socket && chown postgres: ${folder}/data ${folder}/socket && chmod 700 ${folder}/data
    cd / && ${asPostgres} ${programs}/initdb --auth=trust --no-sync --username=state_user ${folder}/data >/dev/null
    echo 'host all all all scram-sha-256' >>${folder}/data/pg_hba.conf`);
  const onHost = (script: string) =>
    network.run(`export PATH=${folder}/bin:$PATH PGHOST=${folder}/socket; ${script}`);
  return {
    host: hostIn(network, folder),
    address,
    clientAddress,
    folder,
    onHost,
    async start(settings = {}) {
      const all = {
        fsync: 'off',
        listen_addresses: '*',
        unix_socket_directories: `${folder}/socket`,
        ...settings,
      };
      const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
      const ctl = `cd / && ${asPostgres} ${programs}/pg_ctl -D ${folder}/data -l ${folder}/data/log -w`;
      await network.run(
        `${ctl} -m fast stop >/dev/null 2>&1 || true; ${ctl} -o "${options.join(' ')}" start`,
      );
    },
    onClient: (script) => network.run(`{ ${script}\n} 2>&1 || true`, 'client'),
    remove() {
      network.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A connection to the namespace of the database server. */
function hostIn(network: Namespaces, folder: string): TestHost {
  const transport = programTransport(() => ({
    words: ['nsenter', ...network.words, 'sh', '-c'],
    env: { PATH: `${folder}/bin:${process.env.PATH}`, HOME: '/root' },
  }));
  const host = hostOver(createConnection('db-1', transport, { prefix: '', password: undefined }));
  return { ...host, container: async () => runningContainer };
}
