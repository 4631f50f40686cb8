// Serves one file of a given size with ranges, with a limited rate per connection and a delay
// before each response.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * @typedef {{ size: number, rate: number, latency: number }} Line bytes, bytes a second (0: as
 * fast as it can), milliseconds
 */

/** The pattern that the file repeats. */
export const block = Buffer.from(
  Array.from({ length: 1024 * 1024 }, (_, at) => (Math.imul(at, 2654435761) >>> 13) & 255),
);

/** @param {import('node:http').ServerResponse} response */
function drained(response) {
  return new Promise((resolve) => {
    const go = () => {
      response.off('drain', go).off('close', go);
      resolve(undefined);
    };
    response.on('drain', go).on('close', go);
  });
}

/** @param {Line} line */
function serve({ size, rate, latency }) {
  return createServer(async (request, response) => {
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
    const from = Number(range?.[1] ?? 0);
    const to = range?.[2] ? Number(range[2]) + 1 : size;
    await delay(latency);
    const part = range ? { 'content-range': `bytes ${from}-${to - 1}/${size}` } : {};
    response.writeHead(range ? 206 : 200, {
      'content-length': to - from,
      'accept-ranges': 'bytes',
      etag: '"1"',
      ...part,
    });
    if (request.method === 'HEAD') return response.end();
    const began = performance.now();
    for (let at = from; at < to && !response.destroyed; ) {
      const within = at % block.length;
      const piece = block.subarray(within, Math.min(block.length, within + to - at));
      if (!response.write(piece)) await drained(response);
      at += piece.length;
      const due = rate === 0 ? 0 : ((at - from) / rate) * 1000 - (performance.now() - began);
      if (due > 1) await delay(due);
    }
    return response.end();
  });
}

if (process.send) {
  const server = serve(JSON.parse(process.argv[2] ?? ''));
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.send?.(typeof address === 'object' ? address?.port : undefined);
  });
  process.on('disconnect', () => process.exit());
}
