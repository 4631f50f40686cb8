// TEMPORARY: until there is SSH.
import { spawn } from 'node:child_process';
import { asLogin } from '../../lib/host/become.ts';
import { connectionOver } from '../../lib/host/connection.ts';
import type { Writer } from '../../lib/host/host.ts';
import { createWriter } from '../../lib/host/writer.ts';
export async function scratchHost(): Promise<{ host: Writer; container: string; remove(): Promise<void> }> {
  const connection = connectionOver(
    'scratch',
    {
      run: (command, input, on) =>
        new Promise((done) => {
          const p = spawn('docker', ['exec', '-i', 'kinds-scratch', 'sh', '-c', command]);
          const o: Buffer[] = [],
            e: Buffer[] = [];
          p.stdout.on('data', (d) => {
            o.push(d);
            on(d);
          });
          p.stderr.on('data', (d) => e.push(d));
          p.on('close', (c) => done({ code: c ?? 255, stdout: Buffer.concat(o), stderr: Buffer.concat(e) }));
          p.stdin.on('error', () => {});
          p.stdin.end(input);
        }),
      close: async () => {},
    },
    asLogin,
  );
  return {
    host: createWriter(connection, 'scratch', { onProgress: () => {} }),
    container: 'kinds-scratch',
    remove: async () => {},
  };
}
