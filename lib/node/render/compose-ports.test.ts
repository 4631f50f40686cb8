import { expect, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { publishedPort } from './compose-ports.ts';

const portOf = (yaml: string) => publishedPort('one', parseYaml(yaml, { version: '1.1' }));

test.each([
  ['"8123:8123"', 'tcp', '8123', '8123'],
  ['9092:9091', 'tcp', '9092', '9091'],
  ['"127.0.0.1:6060:6061"', 'tcp', '6060', '6061'],
  ['"[::1]:6060:6061"', 'tcp', '6060', '6061'],
  ['"53:5353/udp"', 'udp', '53', '5353'],
  ['"8000-8010:9000-9010"', 'tcp', '8000:8010', '9000:9010'],
  ['{ target: 80, published: 8080 }', 'tcp', '8080', '80'],
  ['{ target: 80, published: "8080", protocol: udp, mode: host }', 'udp', '8080', '80'],
])('%s', (port, protocol, published, target) => {
  expect(portOf(port)).toEqual({ service: 'one', protocol, published, target });
});

test.each([
  '"5432"',
  '5432',
  '"127.0.0.1::5432"',
  '{ target: 80 }',
  '"8123:8123/sctp"',
  '"$PORT:8123"',
  '"8123:0"',
  '"65536:8123"',
])('%s is not a port of the host that is known beforehand', (port) => {
  expect(() => portOf(port)).toThrow(
    expect.objectContaining({
      message: expect.stringMatching(
        /^docker-compose\.yml: service one publishes ".*", which does not name a port of the host and one of the container$/,
      ),
      hint: 'write the ports as "8123:8123", that of the host first, each a port from 1 to 65535',
    }),
  );
});
