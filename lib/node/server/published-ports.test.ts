import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import type { Reader, UnitState } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { createReader } from '../../engine/host/reader.ts';
import { connectLocally } from '../../engine/host/testing/local-connection.ts';
import { drift, ok, unknownUntil } from '../../engine/resource/resource.ts';
import { fakeHost, stoppedUnit } from '../../engine/resource/testing/fake-host.ts';
import { portIsFree } from './published-ports.ts';

const nginx = 'LISTEN 0 511 0.0.0.0:5432 0.0.0.0:* users:(("nginx",pid=813,fd=6),("nginx",pid=812,fd=6))\n';
const proxy = 'LISTEN 0 4096 *:5432 *:* users:(("docker-proxy",pid=99,fd=4))\n';

/**
 * @param published lines of `docker ps`
 */
function verdictFor(listening: string, published: string, port = 5432) {
  const host = fakeHost([
    [/ss -Hlntp/, listening],
    [/docker ps/, published],
  ]);
  return portIsFree(host, { port, container: 'state-db' });
}
const byDocker = (name: string) => `${name} 0.0.0.0:5432->5432/tcp, :::5432->5432/tcp\n`;

test('a port is free, or our own container has it', async () => {
  expect(await verdictFor('', '')).toEqual(ok);
  expect(await verdictFor(proxy, byDocker('state-db'))).toEqual(ok);
  // Without the userland proxy nothing is seen to listen.
  expect(await verdictFor('', byDocker('state-db'))).toEqual(ok);
});

test('a process or another container that has it is named', async () => {
  expect(await verdictFor(nginx, '')).toEqual(
    drift('port 5432 is held by nginx (process 813) and nginx (process 812)'),
  );
  expect(await verdictFor(proxy, byDocker('old-db'))).toEqual(
    drift('port 5432 is held by the container old-db'),
  );
  expect(await verdictFor('', byDocker('old-db'))).toEqual(
    drift('port 5432 is held by the container old-db'),
  );
  expect(await verdictFor('LISTEN 0 511 0.0.0.0:5432 0.0.0.0:*\n', '')).toEqual(
    drift('port 5432 is held by an unknown process'),
  );
});

test('a container that restarts, and is not shown as running, has its own ports', async () => {
  const restarts = (configured: string) => {
    const host = fakeHost([
      [/ss -Hlntp/, proxy],
      [/docker inspect/, configured],
      [/docker ps/, ''],
    ]);
    return portIsFree(host, { port: 5432, container: 'state-db' });
  };
  expect(await restarts('/other\n/state-db 9000/tcp=9000 5432/tcp=5432\n')).toEqual(ok);
  const held = drift('port 5432 is held by docker-proxy (process 99)');
  expect(await restarts('/other 5432/tcp=5432\n/state-db 5432/udp=5432 1/tcp=15432\n')).toEqual(held);
});

test('whose a port is is not known while Docker cannot say it, and is where another program has it', async () => {
  const seen = (listening: string, unit: UnitState = stoppedUnit) => {
    const starting = fakeHost([[/ss -Hlntp/, listening]], { unit: async () => unit });
    return portIsFree(starting, { port: 5432, container: 'state-db' });
  };
  const notKnown = unknownUntil('docker says which container has which port');
  expect(await seen(proxy)).toEqual(notKnown);
  expect(await seen('LISTEN 0 511 0.0.0.0:5432 0.0.0.0:*\n')).toEqual(notKnown);
  expect(await seen('')).toEqual(ok);
  expect(await seen(nginx)).toMatchObject({ is: 'drift' });
  expect(await seen(proxy, { ...stoppedUnit, load: 'not-found' })).toMatchObject({ is: 'drift' });
});

test('an engine that systemd does not know is not asked', async () => {
  const host = fakeHost(
    [
      [/ss -Hlntp/, proxy],
      [/docker inspect/, '/state-db 5432/tcp=5432\n'],
    ],
    { unit: async () => ({ ...stoppedUnit, load: 'not-found' }) },
  );
  const held = drift('port 5432 is held by docker-proxy (process 99)');
  expect(await portIsFree(host, { port: 5432, container: 'state-db' })).toEqual(held);
});

test('the containers that publish a port are found by its number, in a range too, and no others', async () => {
  const list = `db 0.0.0.0:5432->5432/tcp, :::5432->5432/tcp
many 0.0.0.0:8000-8005->9000-9005/tcp
inside 5432/tcp
names 53/udp, 0.0.0.0:5432->53/udp
`;
  expect(await verdictFor('', list)).toEqual(drift('port 5432 is held by the container db'));
  expect(await verdictFor('', list, 8003)).toEqual(drift('port 8003 is held by the container many'));
  expect(await verdictFor('', list, 9003)).toEqual(ok);
  expect(await verdictFor('', list, 543)).toEqual(ok);
});

test('what listens is found among all that do, with ss and without it, and asked for once for all ports', async () => {
  const server = createServer();
  const port = await new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  );
  try {
    const connection = await connectLocally();
    const reader = createReader(connection, 'here');
    const before = connection.execs;
    const [held, free] = await Promise.all(
      [port, 1].map((number) => portIsFree(reader, { port: number, container: 'none' })),
    );
    expect(held).toMatchObject({ is: 'drift', note: expect.stringContaining(`port ${port} is held by`) });
    expect(held).toMatchObject({ note: expect.stringContaining(`process ${process.pid}`) });
    expect(free).toEqual(ok);
    expect(connection.execs - before).toBe(1);

    const without: Reader = { ...reader, $: asked(readFileSync('/proc/net/tcp', 'utf8')) };
    expect(await portIsFree(without, { port, container: 'none' })).toMatchObject({ is: 'drift' });
    expect(await portIsFree(without, { port: 1, container: 'none' })).toEqual(ok);
  } finally {
    server.close();
  }
});

/** Answers the first command with a text, and fails at any other. */
function asked(text: string): Reader['$'] {
  return ((pieces: TemplateStringsArray) =>
    Promise.resolve(
      pieces[0]?.startsWith('if') ? new Output(0, Buffer.from(text), '') : new Output(1, Buffer.alloc(0), ''),
    )) as unknown as Reader['$'];
}
