// Forwards TCP connections with a delay, for kernels without netem: every byte is delayed by half
// of the added round trip, and the connection itself takes one round trip, like its handshake.
// Arguments: milliseconds, then pairs of listen address and target address. Prints `ready` when it
// listens.
import { connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const [milliseconds, ...addresses] = process.argv.slice(2);
const roundTrip = Number(milliseconds);

/**
 * @param {import('node:net').Socket} from
 * @param {import('node:net').Socket} to
 */
function carry(from, to) {
  from.on('data', (chunk) => setTimeout(() => to.write(chunk), roundTrip / 2));
  from.on('end', () => setTimeout(() => to.end(), roundTrip / 2));
  from.on('error', () => to.destroy());
  from.on('close', () => setTimeout(() => to.destroy(), roundTrip));
}

for (let at = 0; at < addresses.length; at += 2) {
  const there = addresses[at + 1];
  const server = createServer({ noDelay: true, pauseOnConnect: true }, async (near) => {
    // The client's handshake ends at once here, but really its first byte arrives one and a half
    // trips later.
    await delay(roundTrip * 1.5);
    const far = connect({ host: there, port: 22, noDelay: true });
    carry(near, far);
    carry(far, near);
    near.resume();
  });
  await new Promise((resolve) => server.listen(22, addresses[at], () => resolve(undefined)));
}
console.log('ready');
