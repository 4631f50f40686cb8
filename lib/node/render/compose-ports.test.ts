import { expect, test } from 'vitest';
import { composePorts } from './compose-ports.ts';

const compose = (...ports: string[]) =>
  `services:\n  one:\n    ports:\n${ports.map((port) => `      - ${port}\n`).join('')}`;

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
  expect(composePorts(compose(port))).toEqual([{ protocol, published, target }]);
});

test('services without ports, and several', () => {
  expect(
    composePorts('services: { one: { image: x }, two: { ports: ["1:2", "3:4"] }, three: { ports: ["5:6"] } }'),
  ).toHaveLength(3);
});

test.each(['"5432"', '5432', '"127.0.0.1::5432"', '{ target: 80 }', '"8123:8123/sctp"', '"$PORT:8123"'])(
  '%s names no port of the host that is known beforehand',
  (port) => {
    expect(() => composePorts(compose(port))).toThrow('docker-compose.yml: service one publishes');
  },
);
