import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { basename, join } from 'node:path';
import { network } from '../../lab/layout.mjs';

/** Serves the files of a folder to the lab's hosts, from their gateway: this machine. */
export async function serveFolder(folder: string, port: number): Promise<{ url: string; server: Server }> {
  const server = createServer((request, response) => {
    const file = join(folder, basename(request.url ?? ''));
    stat(file).then(
      ({ size }) => {
        response.writeHead(200, { 'content-length': size });
        if (request.method === 'HEAD') response.end();
        else createReadStream(file).pipe(response);
      },
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(port, network.gateway, resolve));
  return { url: `http://${network.gateway}:${port}`, server };
}
