import { expect, test } from 'vitest';
import { nodePortsIn, proverPortsIn } from './configured-ports.ts';

const node = '[RPC]\nPort = 1\n[RPC.WebSockets]\nPort = 2\n[Metrics]\nPort = 3\n';
const prover = '{ "hashDBServerPort": 4, "executorServerPort": 5 }';

test('ports are read from the configurations', () => {
  expect(nodePortsIn(node, 'n')).toEqual({ rpc: 1, webSocket: 2, metrics: 3 });
  expect(proverPortsIn(prover, 'p')).toEqual({ hashDb: 4, executor: 5 });
});

test.each([
  ['a section that is missing', node.replace('[RPC.WebSockets]', '[Other]'), 'RPC.WebSockets.Port is missing in n'],
  ['a section that is a value', 'RPC = 5\n', 'RPC.Port is missing in n'],
  [
    'a port as text',
    node.replace('Port = 3', 'Port = "3"'),
    'Metrics.Port must be a port, a whole number from 1 to 65535, in n',
  ],
  ['port 0', node.replace('Port = 1', 'Port = 0'), 'RPC.Port must be a port, a whole number from 1 to 65535, in n'],
])('%s of the node is told', (_, text, expected) => {
  expect(() => nodePortsIn(text, 'n')).toThrow(expect.objectContaining({ name: 'Problem', message: expected }));
});

test('so is one of the prover', () => {
  expect(() => proverPortsIn('{ "hashDBServerPort": 4 }', 'p')).toThrow('executorServerPort is missing in p');
  expect(() => proverPortsIn('null', 'p')).toThrow('hashDBServerPort is missing in p');
});
