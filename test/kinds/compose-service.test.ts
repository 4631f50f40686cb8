import { beforeAll, beforeEach, expect, test } from 'vitest';
import { write } from '../../lib/engine/host/step.ts';
import { composeService, configHashLabel } from '../../lib/engine/resource/docker/compose-service.ts';
import { applyDrift, makeSteps, type TestHost } from '../../lib/engine/resource/testing/test-host.ts';
import { converge } from './converge.ts';
import { dockerHost, postgresImage } from './docker-host.ts';

const directory = '/srv/kinds-compose';
const container = 'kinds-looper';
const looper = composeService({
  directory,
  service: 'looper',
  container,
  configHash: 'current',
  readsAtStart: [],
});

let host: TestHost;
beforeAll(async () => {
  const scratch = await dockerHost();
  host = scratch.host;
  return scratch.remove;
});

beforeEach(async () => {
  await host.run`docker rm -f ${container} 2>/dev/null; rm -rf ${directory} && mkdir -p ${directory}`;
  // It reads a file when it starts, and ends if it is missing.
  const compose = `version: '3.5'
services:
  looper:
    container_name: ${container}
    image: ${postgresImage}
    restart: unless-stopped
    network_mode: none
    labels: { ${configHashLabel}: current }
    command: [sh, -c, "trap exit TERM; cat /given/config && sleep infinity & wait $$!"]
    volumes: ['${directory}:/given:ro']
`;
  await makeSteps(host, write(`${directory}/docker-compose.yml`, compose));
});

const putRight = () => host.run`echo a setting > ${directory}/config`;

/** Waits until Docker pauses before its next start, long enough for a check and a change. */
async function crashLoop() {
  await applyDrift(host, looper).catch(() => {});
  const state = async () => {
    const { status = '', restartCount = 0 } = (await host.container(container)) ?? {};
    return restartCount >= 7 ? status : '';
  };
  await expect.poll(state, { timeout: 60_000, interval: 200 }).toBe('restarting');
}

test('a container in a crash loop converges at once when its cause is removed', async () => {
  await crashLoop();
  await putRight();
  expect(await converge(host, looper)).toEqual([{ what: 'container', was: 'restarting', wanted: 'running' }]);
  expect(await host.container(container)).toMatchObject({ status: 'running', restartCount: 0 });
});

test('a container whose cause remains fails with its last output', async () => {
  await crashLoop();
  await expect(applyDrift(host, looper)).rejects.toThrow(
    /^container kinds-looper (is restarting, exit code 1|does not stay up, restarts by Docker: \d+)\n[\s\S]*No such file/,
  );
});

test('a paused container runs again', async () => {
  await putRight();
  await converge(host, looper);
  await host.run`docker pause ${container}`;
  expect(await converge(host, looper)).toEqual([{ what: 'container', was: 'paused', wanted: 'running' }]);
});
