import { expect, test } from 'vitest';
import { describeVerdict, drift, isWarning, undecided } from '../../engine/resource/resource.ts';
import { type Answer, fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { applyDrift } from '../../engine/resource/testing/test-host.ts';
import { blockGrows, givesBlockNumber } from './installation-check.ts';

const url = 'http://localhost:8123';
const sequencer = 'http://10.0.0.9:8545';
const twice = { attempts: 2, pause_seconds: 0 };

/**
 * A host on which json-rpc runs, and answers so; by its clock it is 1000.
 *
 * @param trusted what the trusted sequencer answers to the request for its chain id
 */
const answering = (
  result: unknown,
  trusted: Answer = 'HTTP/1.1 200 OK\n\n{"jsonrpc":"2.0","id":1,"result":"0x10"}',
) =>
  fakeHost(
    [
      [/10\.0\.0\.9:8545/, trusted],
      [/probe/, `HTTP/1.1 200 OK\n\n${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}`],
      [/^date/, '1000\n'],
    ],
    { container: async () => runningContainer },
  );

test('an answer without a block number is shown, with the number of attempts', async () => {
  const check = givesBlockNumber(url, twice);
  const host = answering('0x01');
  expect(await check.check(host)).toMatchObject(drift('eth_blockNumber gives no valid block number: "0x01"'));
  await expect(applyDrift(host, check)).rejects.toMatchObject({
    message: expect.stringMatching(
      /^eth_blockNumber gives no valid block number: "0x01" \(asked 2 times in \d s\)$/,
    ),
    hint: 'see docker logs json-rpc',
  });
});

test('a chain that does not grow is reported with its newest block', async () => {
  const check = blockGrows(url, sequencer, twice);
  const host = answering({ number: '0x10', hash: '0xaa', timestamp: '0x384' });
  expect(await check.check(host)).toMatchObject(
    undecided('block 16 is 100 s old, and whether it grows takes two checks'),
  );
  await expect(applyDrift(host, check)).rejects.toMatchObject({
    message: expect.stringMatching(/^the newest block is 16 and does not grow \(asked 2 times in \d s\)$/),
    hint: 'see docker logs json-rpc',
  });
});

test('a chain that cannot grow, as the trusted sequencer is away, is a warning', async () => {
  const check = blockGrows(url, sequencer, twice);
  const away: Answer = { exitCode: 7, stderr: 'curl: (7) Connection refused' };
  const verdict = await check.check(answering({ number: '0x10', hash: '0xaa', timestamp: '0x384' }, away));
  expect(isWarning(check, verdict)).toBe(true);
  expect(describeVerdict(verdict)).toBe(
    'block 16 is 100 s old, and no newer one can come: http://10.0.0.9:8545 does not answer: Connection refused',
  );
});

test('a server without any block is reported', async () => {
  expect(await blockGrows(url, sequencer, twice).check(answering(null))).toEqual(
    drift('eth_getBlockByNumber gives no newest block'),
  );
});
