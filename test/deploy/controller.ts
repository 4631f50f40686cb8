import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { $ } from 'zx';
import { onHost } from './lab-host.ts';

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const quiet = $({ quiet: true, cwd: root } as object);

const linesOf = ({ stdout }: { readonly stdout: string }) => stdout.trim().split('\n');

/** The user of the copy on a controller. */
export const owner = 'rpc-drift';
const copy = '/srv/rpc-playbooks';

/**
 * Makes a lab host a controller: this Node, a copy of this project's tracked files with its
 * production dependencies, and the lab's keys.
 *
 * @param inventory path of a lab inventory on this machine
 * @returns runs a playbook of the copy there, as its owner or as root
 */
export async function controllerOn(host: string, inventory: string) {
  const packages = linesOf(await quiet`npm ls --all --omit=dev --parseable`).slice(1);
  const files = linesOf(
    await quiet`git ls-files -- lib playbooks roles templates inventory package.json tsconfig.json`,
  );
  const lab = ['id_ed25519', 'known_hosts', 'secrets', 'vars.yaml'].map((name) => `.lab/${name}`);
  const list = [...files, ...lab, ...packages.map((path) => path.replace(`${root}/`, ''))].join('\n');
  await quiet`docker cp ${process.execPath} ${`rpc-lab-${host}`}:/usr/local/bin/node`;
  await onHost(
    host,
    `id ${owner} >/dev/null 2>&1 || useradd --create-home ${owner}; rm -rf ${copy}; mkdir ${copy}`,
  );
  await $({
    quiet: true,
    cwd: root,
    input: list,
  } as object)`tar -c -T - | docker exec -i rpc-lab-${host} tar -x -C ${copy}`;
  const text = (await readFile(inventory, 'utf8')).replaceAll(root, copy);
  await onHost(
    host,
    `cat >${copy}/inventory/scheduled.yaml <<'YAML'\n${text}\nYAML\nchown -R ${owner} ${copy}`,
  );
  return (as: 'root' | typeof owner, name: string, ...words: readonly string[]) =>
    onHost(
      host,
      `cd ${copy} && RPC_PLAYBOOKS_TRUST=${copy} runuser -u ${as} -- node node_modules/zx/build/cli.js playbooks/${name}.mjs -i scheduled ${words.join(' ')} 2>&1`,
    );
}
