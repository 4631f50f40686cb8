// Shows the events of a run from a socket, like a playbook on a terminal: node show-events.ts
// SOCKET [--quiet]
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';
import { liveOutput } from '../../lib/engine/output/live/live.ts';
import { widthOf } from '../../lib/engine/output/wrapped.ts';

const [, , path = '', ...words] = process.argv;
const listen = liveOutput(process.stdout, {
  paint: (_, text) => text,
  verbose: false,
  quiet: words.includes('--quiet'),
  diff: 'short',
  check: false,
  hostWidth: 6,
  width: () => widthOf(process.stdout),
});
const socket = createConnection(path);
for await (const line of createInterface({ input: socket })) {
  const said = JSON.parse(line);
  if (said.type === 'throw') throw new Error(said.error);
  if (said.type === 'exit') process.exit(said.code);
  if (said.type === 'kill') process.kill(process.pid, 'SIGKILL');
  listen(said);
  socket.write('shown\n');
  if (said.type === 'run-finished') socket.end();
}
