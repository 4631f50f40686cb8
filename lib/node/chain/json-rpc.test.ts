import { expect, test } from 'vitest';
import { fakeHost } from '../../engine/resource/testing/fake-host.ts';
import { jsonRpc, readAnswer } from './json-rpc.ts';

const url = 'http://localhost:8123';

test.each([
  ['{"jsonrpc":"2.0","id":1,"result":"0x10"}', { ok: true, result: '0x10' }],
  ['{"jsonrpc":"2.0","id":1,"result":null}', { ok: true, result: null }],
  [
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"failed to get the last block number"}}',
    { ok: false, error: `${url} answers an error: -32000 failed to get the last block number`, code: -32000 },
  ],
  ['zkEVM node', { ok: false, error: `${url} answers no JSON: zkEVM node` }],
  ['', { ok: false, error: `${url} answers no JSON: (nothing)` }],
  ['{"result":"0x10"}', { ok: false, error: `${url} answers without "jsonrpc": "2.0": {"result":"0x10"}` }],
  [
    '{"jsonrpc":"1.0","id":1,"result":"0x10"}',
    { ok: false, error: `${url} answers without "jsonrpc": "2.0": {"jsonrpc":"1.0","id":1,"result":"0x10"}` },
  ],
  [
    '{"jsonrpc":"2.0","id":2,"result":"0x10"}',
    {
      ok: false,
      error: `${url} answers another request than that with id 1: {"jsonrpc":"2.0","id":2,"result":"0x10"}`,
    },
  ],
  [
    '{"jsonrpc":"2.0","id":"1","result":"0x10"}',
    {
      ok: false,
      error: `${url} answers another request than that with id 1: {"jsonrpc":"2.0","id":"1","result":"0x10"}`,
    },
  ],
  ['{"jsonrpc":"2.0","id":1}', { ok: false, error: `${url} answers no JSON-RPC: {"jsonrpc":"2.0","id":1}` }],
  ['"0x10"', { ok: false, error: `${url} answers no JSON-RPC: "0x10"` }],
  ['[]', { ok: false, error: `${url} answers no JSON-RPC: []` }],
])('only the body tells a result from an error: %#', (stdout, answer) => {
  expect(readAnswer(stdout, url)).toEqual(answer);
});

test('no answer at all is reported with the reason that curl gives', async () => {
  const host = fakeHost([
    [/probe/, { exitCode: 0, stderr: 'curl: (7) Failed to connect to localhost port 8123\n' }],
  ]);
  expect(await jsonRpc(host, url, 'eth_blockNumber')).toEqual({
    ok: false,
    error: `${url} does not answer: Failed to connect to localhost port 8123`,
  });
});

test('an error made of anything but words is still an answer', () => {
  const stdout = JSON.stringify({ error: { code: { toString: 1 }, message: [] } });
  expect(readAnswer(stdout, url)).toEqual({ ok: false, error: `${url} answers an error: ` });
});
