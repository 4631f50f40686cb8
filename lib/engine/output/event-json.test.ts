import { expect, test } from 'vitest';
import type { RunEvent } from '../run/events.ts';
import { Secret } from '../secret/secret.ts';
import { eventLine } from './event-json.ts';

const at = Date.UTC(2024, 4, 1, 12);
const task = { host: 'rpc-1', play: 'RPC servers', role: 'json-rpc', resource: 'json-rpc is running' };
const parsed = (event: RunEvent) => JSON.parse(eventLine(event, at));

test('an event is one flat object with its time, on one line', () => {
  expect(
    parsed({ type: 'progress', task, progress: { what: 'copying\nit', done: 1, total: 2, unit: 'bytes' } }),
  ).toEqual({
    format: 1,
    time: '2024-05-01T12:00:00.000Z',
    type: 'progress',
    ...task,
    what: 'copying\nit',
    done: 1,
    total: 2,
    unit: 'bytes',
  });
  const line = eventLine({ type: 'host-stopped', host: 'a', play: 'b', why: 'c\nd' }, at);
  expect(line).not.toContain('\n');
});

test('an error is its message, and no field has a secret, also one that JSON would escape', () => {
  const secret = new Secret('hunter"2\\x');
  const event: RunEvent = {
    type: 'resource-done',
    task,
    outcome: 'failed',
    differences: [{ what: 'file', was: `a ${secret.reveal()} b`, wanted: '' }],
    note: undefined,
    error: new Error(`refused: ${secret.reveal()}`),
    seconds: 1.5,
    commands: [],
  };
  expect(parsed(event)).toMatchObject({
    ...task,
    outcome: 'failed',
    differences: [{ what: 'file', was: 'a [secret] b', wanted: '' }],
    error: 'refused: [secret]',
  });
  expect(parsed(event)).not.toHaveProperty('note');
});
