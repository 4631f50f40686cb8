import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { $ } from 'zx';
import { onHost } from './lab-host.ts';

/** The lab's passwords are canaries: if one appears anywhere else, a secret has leaked. */
export async function labPasswords(): Promise<readonly string[]> {
  const names = ['state', 'pool', 'prover'];
  const folder = new URL('../../.lab/secrets/', import.meta.url);
  return Promise.all(
    names.map(async (name) => (await readFile(new URL(`${name}_db_password`, folder), 'utf8')).trim()),
  );
}

/**
 * Checks the command lines and environments of all processes of this machine repeatedly, which
 * includes the processes of the lab's hosts and containers.
 *
 * @returns a function that stops it and returns the command lines in which a password was seen
 */
export function watchProcesses(passwords: readonly string[]): () => Promise<string[]> {
  const seen = new Set<string>();
  const looking = { on: true };
  const look = async () => {
    while (looking.on) {
      for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        const line = commandLine(pid);
        if (passwords.some((password) => line.includes(password))) seen.add(line);
      }
      await sleep(50);
    }
  };
  const done = look();
  return async () => {
    looking.on = false;
    await done;
    return [...seen];
  };
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    // It has ended meanwhile.
    return '';
  }
}

/**
 * Files of a host with a password, except those that need it: the rendered files (0600, root's)
 * and the container data of the Docker engine and containerd. Logs and the journal are searched as
 * well.
 */
export async function filesWithPasswords(host: string, passwords: readonly string[]): Promise<string[]> {
  const patterns = passwords.map((password) => `-e '${password}'`).join(' ');
  const found = await onHost(
    host,
    `journal=$(mktemp); journalctl --no-pager > "$journal" 2>/dev/null || true
     grep -lF ${patterns} "$journal" | sed 's/.*/journal/' || true; rm -f "$journal"
     grep -rlF --exclude-dir=docker --exclude-dir=containerd --exclude-dir=rpc-node --exclude-dir=state-db --exclude-dir=pool-db ${patterns} \
       /etc /home /opt /root /run /srv /tmp /usr/local /var /data /dev/shm 2>/dev/null || true
     find /opt/rpc-node -type f -perm /077 ! -name init_prover_db.sql -exec grep -lF ${patterns} {} + || true
     for log in $(docker ps -aq); do docker logs "$log" 2>&1 | grep -qF ${patterns} && docker inspect --format 'log of {{.Name}}' "$log"; done || true`,
  );
  return found.split('\n').filter((line) => line !== '');
}

/**
 * Files of this machine with a password, except those of the lab: temporary files and files of
 * runs. File systems that are mounted below, as a killed test leaves them, are not searched: /proc
 * never ends.
 */
export async function filesHereWithPasswords(passwords: readonly string[]): Promise<string[]> {
  const patterns = passwords.flatMap((password) => ['-e', password]);
  const skipped = ['(', '-name', '.lab', '-o', '-name', 'node_modules', '-o', '-name', '.git', ')'];
  const places = [tmpdir(), '/dev/shm', '/run/rpc-playbooks', '.runs'];
  // Quiet about files that another test removes meanwhile: its complaints would count as names.
  const found = await $({
    quiet: true,
    nothrow: true,
  })`find ${places} -xdev -type d ${skipped} -prune -o -type f -exec grep -lsF ${patterns} {} + 2>/dev/null`;
  return found.lines();
}
