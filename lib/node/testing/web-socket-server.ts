import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Answers the handshake of a client as strictly as RFC 6455, section 4.2, allows a server.
 *
 * @param headers of the server's own, beside those of the RFC
 * @returns whether the server agreed; if it did not, the connection is closed
 */
export function agreesToWebSocket(
  request: IncomingMessage,
  socket: Duplex,
  headers: Readonly<Record<string, string>> = {},
): boolean {
  socket.on('error', () => {});
  const refusal = refusalOf(request);
  if (refusal !== undefined) {
    socket.end(`HTTP/1.1 ${refusal}\r\nConnection: close\r\n\r\n`);
    return false;
  }
  const accept = proofOf(request.headers['sec-websocket-key'] ?? '');
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n${own.join('')}\r\n`,
  );
  return true;
}

/**
 * @returns the `Sec-WebSocket-Accept` for a key, as RFC 6455, section 1.3, works it out
 */
export function proofOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}

/**
 * @returns the status line and headers of a refusal, or nothing
 */
function refusalOf({ method, httpVersion, headers }: IncomingMessage): string | undefined {
  const { upgrade = '', connection = '', host = '' } = headers;
  const key = headers['sec-websocket-key'] ?? '';
  if (method !== 'GET') return '405 Method Not Allowed';
  if (httpVersion !== '1.1' || host === '') return '400 Bad Request';
  if (upgrade.toLowerCase() !== 'websocket') return '426 Upgrade Required\r\nUpgrade: websocket';
  if (!/(^|, *)upgrade($| *,)/i.test(connection)) return '400 Bad Request';
  if (headers['sec-websocket-version'] !== '13') return '426 Upgrade Required\r\nSec-WebSocket-Version: 13';
  const bytes = Buffer.from(key, 'base64');
  if (bytes.length !== 16 || bytes.toString('base64') !== key) return '400 Bad Request';
  return undefined;
}

/**
 * A frame as a server sends it, without a mask.
 *
 * @param first its first byte: 0x81 is a whole text, 0x88 ends the WebSocket
 */
export function serverFrame(first: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const { length } = bytes;
  const size = length < 126 ? [length] : [126, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([first, ...size]), bytes]);
}

/**
 * Reads the frames of a client, each shorter than 126 bytes. One without a mask ends the
 * connection, as RFC 6455, section 5.1, wants it.
 *
 * @param onFrame gets the first byte of each frame, and its content without the mask
 */
export function readFrames(socket: Duplex, onFrame: (first: number, content: Buffer) => void): void {
  let pending = Buffer.alloc(0);
  socket.on('data', (part: Buffer) => {
    pending = Buffer.concat([pending, part]);
    for (;;) {
      const [first, second] = pending;
      if (first === undefined || second === undefined) return;
      if (second < 0x80) return void socket.destroy();
      const end = 6 + (second & 0x7f);
      if (pending.length < end) return;
      const mask = pending.subarray(2, 6);
      const content = pending.subarray(6, end).map((byte, at) => byte ^ (mask[at % 4] ?? 0));
      pending = pending.subarray(end);
      onFrame(first, Buffer.from(content));
    }
  });
}
