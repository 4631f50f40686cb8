// SSH servers that answer as a recorded host did: one for each way to behave, on the ports from
// FIRST_PORT on, on all addresses. Arguments: the file of record-host.mjs, a private host key,
// another one, the first port. Prints a line when all of them listen.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import ssh2 from 'ssh2';
import { isOpenedAhead, sentScript } from '../sent-script.mjs';
import { withNonces, withoutNonces } from './requests.mjs';
import { ways } from './ways.mjs';

const [record = '', key = '', otherKey = '', firstPort = ''] = process.argv.slice(2);

/** @type {{ text: string, out: string, err: string, code: number }[]} */
const recorded = readFileSync(record, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const answers = new Map(recorded.map((answer) => [answer.text, answer]));

/** @typedef {(typeof ways)[number]} Way */

/**
 * @param {ssh2.ServerChannel} channel @param {(given: string) => void} run called with all of its
 * standard input
 */
function inputOf(channel, run) {
  let given = '';
  channel.on('data', (/** @type {Buffer} */ chunk) => {
    given += chunk.toString('latin1');
  });
  channel.on('end', () => run(given));
}

/** @param {Way} way */
function serverFor(way) {
  if (way === 'accepts and is silent') return createServer(() => {});
  const hostKeys = [readFileSync(way === 'has another host key' ? otherKey : key)];
  return new ssh2.Server({ hostKeys }, (client) => {
    let requests = 0;
    client.on('error', () => {});
    client.on('authentication', (login) =>
      way === 'refuses the key' ? login.reject(['publickey']) : login.accept(),
    );
    client.on('session', (accept) => {
      accept().on('exec', (acceptRequest, refuse, { command }) => {
        if (way === 'refuses requests') return refuse();
        const channel = acceptRequest();
        inputOf(channel, (given) => {
          // A slow controller takes a host for one far away, and may not need what it opened
          // ahead.
          if (given !== '' || !isOpenedAhead(command))
            answer(channel, sentScript(command, given)?.script ?? command);
        });
      });
    });
    /** @param {ssh2.ServerChannel} channel @param {string} script */
    function answer(channel, script) {
      requests += 1;
      if (way === 'ends the connection at the first request') return client.end();
      if (way === 'ends the connection at the second request' && requests > 1) return client.end();
      if (way === 'never answers') return;
      if (way === 'ends requests without an exit code') return channel.close();
      const { text, nonces } = withoutNonces(script);
      // A request that was not recorded gets the words of a login shell that runs nothing.
      const { out, err, code } = answers.get(text) ?? {
        out: 'This account is not available.\n',
        err: '',
        code: 1,
      };
      const length = way === 'answers half' ? out.length >> 1 : out.length;
      channel.write(Buffer.from(withNonces(out.slice(0, length), nonces), 'latin1'));
      channel.stderr.write(Buffer.from(withNonces(err, nonces), 'latin1'));
      channel.exit(code);
      channel.end();
    }
  });
}

for (const [at, way] of ways.entries()) {
  if (way === 'refuses connections') continue;
  await new Promise((resolve) =>
    serverFor(way).listen(Number(firstPort) + at, '0.0.0.0', () => resolve(undefined)),
  );
}
console.log('listening');
