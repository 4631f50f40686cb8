import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addBlankDisk } from '../../../lab/disks.mjs';
import { resetHosts } from '../../../lab/reset.mjs';
import { labUp } from '../../../lab/up.mjs';
import { dockerByRoles } from '../../deploy/docker-by-roles.ts';
import { onHost } from '../../deploy/lab-host.ts';
import { changedLabInventory } from '../../deploy/lab-inventory.ts';
import { runPlaybook } from '../../deploy/playbook.ts';
import { measured } from '../measured.ts';
import { clearFault, setFault, watchCommands } from './fault-at-command.ts';

const host = 'rpc-2';
const unit = 'rpc-node-docker-root';
const image = '172.30.77.10:5000/postgres:15';
/** A power failure for this unit alone. */
const kill = `systemctl kill --signal KILL ${unit}`;
/** Commands that change something: between two reading commands nothing has changed. */
const changes = /^(cp|mkdir|mv|rm|rsync|sync|umount|xargs|systemctl (?!is-active)|docker (start|stop))/;
const move = (inventory = 'lab') =>
  runPlaybook('deploy', '-i', inventory, '-l', host, '--role', 'docker-root');
const rootNow = () => onHost(host, `docker info --format '{{.DockerRootDir}}'`);

/** Data that must not be lost: a volume's data, a running container and one that never ran. */
const holds = () =>
  onHost(
    host,
    `docker exec kept sh -c 'sha256sum </kept/data; stat -c %h /kept/data'
     docker ps -a --format '{{.Names}} {{.State}}' | sort; docker image ls --no-trunc --quiet`,
  );
let before: string;

/** Docker's data is at its first place, without a trace of a move. */
async function moveBack(): Promise<void> {
  await onHost(
    host,
    `engine_containers() { /usr/local/lib/rpc-node/engine-containers /run/back "$@"; }
     engine_containers note --all
     systemctl stop docker.socket docker.service
     engine_containers stop
     awk '$2 ~ "^(/srv)?/data/docker/" { print $2 }' /proc/self/mounts | sort -r | xargs -r umount
     rm -rf /data/docker /srv/data/docker /var/lib/rpc-node/docker-root /etc/rpc-node/data-disks
     if [ -e /etc/docker/daemon.json.first ]; then cp /etc/docker/daemon.json.first /etc/docker/daemon.json; fi
     systemctl reset-failed docker.service docker.socket
     systemctl start docker.service
     until [ "$(docker inspect -f '{{.State.Running}}' kept)" = true ]; do sleep 0.1; done`,
  );
}

beforeAll(async () => {
  await labUp({ log: console.error });
  await resetHosts([host]);
  await dockerByRoles(host);
  await onHost(
    host,
    `apt-get install -qq -y rsync >/dev/null
     cp /etc/docker/daemon.json /etc/docker/daemon.json.first
     docker run -d --name kept -v kept:/kept --restart unless-stopped --entrypoint sleep ${image} infinity
     docker exec kept sh -c 'head -c 5000000 /dev/urandom >/kept/data; ln /kept/data /kept/hard; sync'
     docker create --name idle --entrypoint sleep ${image} 1`,
  );
  await watchCommands(host, unit);
  before = await holds();
});

afterAll(() => resetHosts([host]));

describe("the move of Docker's data to the largest disk", () => {
  test('is killed before and after each command that changes something: no data lost, the next run finishes it', async ({
    task,
  }) => {
    await setFault(host, undefined, kill);
    const whole = await move();
    expect(whole.exitCode, whole.output).toBe(0);
    const commands = await clearFault(host);
    expect(commands.map(({ command }) => command).join('\n')).toMatch(/^rsync --archive/m);
    const changing = (at: number) => changes.test(commands[at]?.command ?? '');
    const steps = commands.filter((_, at) => changing(at) || changing(at - 1));
    for (const step of steps) {
      await moveBack();
      await setFault(host, step, kill);
      const killed = await move();
      await clearFault(host);
      const where = `killed before ${step.command}, time ${step.time}`;
      expect(killed.exitCode, `${where}\n${killed.output}`).toBe(1);
      const next = await move();
      expect(next.exitCode, `${where}\n${next.output}`).toBe(0);
      expect(await rootNow(), where).toBe('/data/docker');
      expect(await holds(), where).toBe(before);
      expect(await onHost(host, `find /var/lib/docker -name data -size +4M | wc -l`), where).toBe('1');
    }
    measured(task, `${steps.length} kills`);
  }, 3_600_000);

  test('finds too little room on the disk: refused before Docker is stopped', async () => {
    await moveBack();
    const started = () =>
      onHost(host, 'systemctl show --property ActiveEnterTimestampMonotonic docker.service');
    const since = await started();
    await onHost(
      host,
      'fallocate -l $(( $(df -B1 --output=avail /data | tail -1) - 30000000 )) /data/filler',
    );
    const run = await move();
    await onHost(host, 'rm /data/filler');
    expect(run.exitCode, run.output).toBe(1);
    expect(run.output).toMatch(
      /there is no room for it: the data of docker takes \d+ MB, and \d+ MB are free/,
    );
    expect(await started()).toBe(since);
    expect(await holds()).toBe(before);
    const next = await move();
    expect(next.exitCode, next.output).toBe(0);
    expect(await holds()).toBe(before);
  });

  test.each([
    ['before the copy', 'rsync', 0],
    ['before copy and data are compared', 'rsync', 1],
    ['before Docker is started from it', 'systemctl start', 0],
  ])(
    'the disk disappears %s: Docker runs from where it was, the next run finishes it',
    async (_, command, nth) => {
      await moveBack();
      const device = await addBlankDisk(host, 'vanishing', '3G');
      const inventory = await changedLabInventory({
        'rpc-2: { address: 172.30.77.13, user: operator }': `rpc-2: { address: 172.30.77.13, user: operator, vars: { paths: { data: /srv/data }, docker_root: { disk: ${device}, format: true } } }`,
      });
      await setFault(host, undefined, '');
      const whole = await move(inventory);
      expect(whole.exitCode, whole.output).toBe(0);
      const commands = await clearFault(host);
      const fallen = commands.filter((each) => each.command.startsWith(command))[nth];
      expect(fallen).toBeDefined();
      const folder = await onHost(host, `findmnt -n -o TARGET ${device}`);
      await moveBack();
      await onHost(host, `rm -rf ${folder}/docker`);
      await setFault(host, fallen, `umount -l ${folder}`);
      const run = await move(inventory);
      await clearFault(host);
      expect(run.exitCode, run.output).toBe(1);
      expect(await rootNow(), run.output).toBe('/var/lib/docker');
      expect(await holds()).toBe(before);
      const next = await move(inventory);
      expect(next.exitCode, next.output).toBe(0);
      expect(await rootNow()).toBe(`${folder}/docker`);
      expect(await holds()).toBe(before);
      await moveBack();
      await onHost(
        host,
        `umount ${folder}; sed -i '\\#${folder}#d' /etc/fstab; systemctl daemon-reload; wipefs -qa ${device}`,
      );
    },
  );
});
