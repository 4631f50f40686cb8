import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { outside } from '../../lab/layout.mjs';
import { containersOutliveEngine } from '../../lib/engine/resource/docker/kept-containers.ts';
import { jsonFile } from '../../lib/engine/resource/file/json-file.ts';
import { ok } from '../../lib/engine/resource/resource.ts';
import { packages } from '../../lib/engine/resource/system/packages.ts';
import { service } from '../../lib/engine/resource/system/service.ts';
import { applyDrift, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { product } from '../../lib/node/server/product.ts';
import { type ScratchHost, scratchHost } from '../kinds/scratch.ts';
import { measured } from './measured.ts';

const image = `${outside.address}:5000/postgres:15`;
const settings = '/etc/docker/daemon.json';
const [outlive, advice] = containersOutliveEngine(product);
if (!outlive || !advice) throw new Error('there is no resource');

let scratch: ScratchHost;
let host: TestHost;
beforeAll(async () => {
  scratch = await scratchHost();
  host = scratch.host;
  const parts = [
    jsonFile(settings, { 'insecure-registries': [`${outside.address}:5000`] }),
    outlive,
    packages('docker.io', 'iptables'),
  ];
  await host.run`mkdir -p /etc/docker`;
  for (const part of parts) if ((await part.check(host)).is !== 'ok') await applyDrift(host, part);
  await host.run`docker pull --quiet ${image}`;
  return () => scratch.remove();
});

/**
 * A database with a client that stays connected, and a container that somebody stopped by hand.
 */
beforeEach(async () => {
  await host.run`docker rm -f db by-hand >/dev/null 2>&1; rm -rf /srv/db
    docker run -d --name db --restart unless-stopped --stop-timeout 120 -e POSTGRES_PASSWORD=secret -v /srv/db:/var/lib/postgresql/data ${image} &&
    docker run -d --name by-hand --restart unless-stopped ${image} sleep infinity && docker stop --time 0 by-hand`;
  await until('docker exec db pg_isready -q -h 127.0.0.1', 'the database answers');
  await host.run`docker exec --detach db psql -U postgres -c 'select pg_sleep(100000)'`;
  await until(
    `docker exec db psql -U postgres -Atc "select 1 from pg_stat_activity where query like '%100000%' and pid <> pg_backend_pid()" | grep 1`,
    'a client is connected',
  );
});

async function until(command: string, what: string): Promise<void> {
  for (let tries = 0; tries < 60; tries += 1) {
    if ((await host.$`sh -c ${command}`).ok) return;
    await host.sleep(0.5);
  }
  throw new Error(
    `not after 30 s: ${what}\n${(await host.$`docker ps -a; journalctl -u docker --no-pager -n 30; docker logs --tail 20 db 2>&1`).stdout}`,
  );
}

const started = async () => (await host.container('db'))?.startedAt;
const status = async (name: string) => (await host.container(name))?.status;
const answers = () => until('docker exec db pg_isready -q -h 127.0.0.1', 'the database answers again');
const log = async () => (await host.$`docker logs db 2>&1`).stdout;
const killEngine = 'kill -KILL $(pidof dockerd)';

describe('The Docker engine is killed', () => {
  test('an engine that is installed starts with the setting, and needs no restart', async () => {
    expect((await host.$`docker info --format ${'{{.LiveRestoreEnabled}}'}`).text()).toBe('true');
    expect(await outlive.check(host)).toEqual(ok);
    expect(await advice.check(host)).toEqual(ok);
  });

  test('the Docker engine is killed (SIGKILL) six times within a minute', async ({ task }) => {
    const before = await started();
    for (let kills = 0; kills < 6; kills += 1) {
      await host.run`sh -c ${killEngine}`;
      await until('docker info', 'the engine answers');
    }
    await until('systemctl is-active --quiet docker', 'the unit has started');
    expect([await started(), await status('by-hand')]).toEqual([before, 'exited']);
    measured(task, 'no container ended; one that was stopped by hand stayed stopped');
  });

  test('containerd is killed (SIGKILL), alone and with the Docker engine', async ({ task }) => {
    const before = await started();
    for (const programs of ['containerd', 'containerd dockerd']) {
      await host.run`sh -c ${`kill -KILL $(pidof ${programs})`}`;
      await host.sleep(1);
      await until('systemctl is-active --quiet containerd docker && docker exec db true', 'both answer');
    }
    expect([await started(), await status('by-hand')]).toEqual([before, 'exited']);
    measured(task, 'no container ended');
  });

  test('a container ends while the Docker engine is away: it runs again', async () => {
    await host.run`systemctl stop docker.socket docker.service; kill -KILL $(pgrep -of '^postgres')`;
    await host.run`systemctl start docker.service`;
    await answers();
    expect(await status('by-hand')).toBe('exited');
  });

  test('the server restarts: databases are shut down as by Docker itself, and come back', async ({
    task,
  }) => {
    host = await scratch.reboot();
    await answers();
    // What it wrote while it stopped is lost: nobody reads it without the engine.
    const starts = (await log()).match(/database system was (shut down|interrupted)/g);
    expect(starts?.at(-1)).toBe('database system was shut down');
    expect(await status('by-hand')).toBe('exited');
    measured(task, 'a fast shutdown of the database, no recovery at its start');
  });

  test('an engine from before the setting gets it by a reload, with containers that it runs already', async () => {
    await host.run`rm ${settings}`;
    await applyDrift(host, jsonFile(settings, { 'insecure-registries': [`${outside.address}:5000`] }));
    await host.run`systemctl restart docker.service`;
    await answers();
    const before = await started();
    await applyDrift(host, outlive);
    expect(await outlive.check(host)).toEqual(ok);
    // Nothing of it needs a restart of the engine.
    expect(await service('docker', [settings]).check(host)).toEqual(ok);
    await host.run`sh -c ${killEngine}`;
    await until('docker info', 'the engine answers');
    expect(await started()).toBe(before);
  });

  test('the Docker engine is killed (SIGKILL) where its settings say "live-restore": false', async ({
    task,
  }) => {
    await host.run`sed -i ${'s/"live-restore": true/"live-restore": false/'} ${settings} && systemctl reload docker.service`;
    expect(await outlive.check(host)).toEqual(ok);
    expect(await advice.check(host)).toMatchObject({ note: `${settings} says live-restore: false` });
    const before = await started();
    await host.run`sh -c ${killEngine}`;
    await until(
      `[ "$(docker inspect --format '{{.State.StartedAt}}' db)" != ${before} ]`,
      'the container has ended',
    );
    await answers();
    expect(await status('by-hand')).toBe('exited');
    expect(await log()).not.toContain('was interrupted');
    measured(
      task,
      'the containers are stopped and started again; one that was stopped by hand stayed stopped',
    );
  });
});
