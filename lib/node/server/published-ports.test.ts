import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import type { Reader } from '../../engine/host/host.ts';
import { Output } from '../../engine/host/output.ts';
import { createReader } from '../../engine/host/reader.ts';
import { connectLocally } from '../../engine/host/testing/local-connection.ts';
import { drift, ok } from '../../engine/resource/resource.ts';
import { portIsFree, portVerdict, publishersOf } from './published-ports.ts';

const wanted = { port: 5432, container: 'state-db' };
const nginx = 'LISTEN 0 511 0.0.0.0:5432 0.0.0.0:* users:(("nginx",pid=813,fd=6),("nginx",pid=812,fd=6))\n';
const proxy = 'LISTEN 0 4096 *:5432 *:* users:(("docker-proxy",pid=99,fd=4))\n';

test('a port is free, or our own container has it', () => {
  expect(portVerdict('', [], wanted)).toEqual(ok);
  expect(portVerdict(proxy, ['state-db'], wanted)).toEqual(ok);
  // Without the userland proxy nothing is seen to listen.
  expect(portVerdict('', ['state-db'], wanted)).toEqual(ok);
});

test('whoever else has it is named', () => {
  expect(portVerdict(nginx, [], wanted)).toEqual(
    drift('port 5432 is held by nginx (process 813) and nginx (process 812)'),
  );
  expect(portVerdict(proxy, ['old-db'], wanted)).toEqual(drift('port 5432 is held by the container old-db'));
  expect(portVerdict('', ['old-db'], wanted)).toEqual(drift('port 5432 is held by the container old-db'));
  expect(portVerdict('0: 00000000:1538 00000000:0000 0A', [], wanted)).toEqual(
    drift('port 5432 is held by a process that cannot be told'),
  );
});

test('the containers that publish a port are told by its number, in a range too, and by no other', () => {
  const list = `state-db 0.0.0.0:5432->5432/tcp, :::5432->5432/tcp
many 0.0.0.0:8000-8005->9000-9005/tcp
inside 5432/tcp
names 53/udp, 0.0.0.0:5432->53/udp
`;
  expect(publishersOf(list, 5432)).toEqual(['state-db']);
  expect(publishersOf(list, 8003)).toEqual(['many']);
  expect(publishersOf(list, 9003)).toEqual([]);
  expect(publishersOf(list, 543)).toEqual([]);
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
