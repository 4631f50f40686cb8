import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectByTls } from 'node:tls';

/** A frame of RFC 6455, without its mask. */
export interface Frame {
  readonly isLast: boolean;
  readonly opcode: number;
  readonly content: Buffer;
}

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

interface FrameOptions {
  readonly isLast?: boolean;
  readonly mask?: Buffer;
}

/** The bytes of a frame. Of a client each has a mask. */
export function bytesOf(
  opcode: number,
  content: string | Buffer,
  { isLast = true, mask }: FrameOptions = {},
): Buffer {
  const bytes = Buffer.from(content);
  const size = Buffer.alloc(10);
  const flag = mask ? 0x80 : 0;
  size[0] = (isLast ? 0x80 : 0) | opcode;
  let behind = 2;
  if (bytes.length < 126) size[1] = flag | bytes.length;
  else if (bytes.length < 65_536) {
    size[1] = flag | 126;
    behind = size.writeUInt16BE(bytes.length, 2);
  } else {
    size[1] = flag | 127;
    behind = size.writeBigUInt64BE(BigInt(bytes.length), 2);
  }
  const head = size.subarray(0, behind);
  return mask ? Buffer.concat([head, mask, masked(bytes, mask)]) : Buffer.concat([head, bytes]);
}

function masked(bytes: Buffer, mask: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
}

/** Gives each frame of a stream, of any length. */
export function readAllFrames(
  stream: Duplex,
  onFrame: (frame: Frame) => void,
  first: Buffer = Buffer.alloc(0),
): void {
  let pending: Buffer = first;
  const give = () => {
    for (;;) {
      const found = frameIn(pending);
      if (!found) return;
      pending = pending.subarray(found.size);
      onFrame(found.frame);
    }
  };
  stream.on('data', (part: Buffer) => {
    pending = Buffer.concat([pending, part]);
    give();
  });
  give();
}

function frameIn(bytes: Buffer): { frame: Frame; size: number } | undefined {
  const [first, second] = bytes;
  if (first === undefined || second === undefined) return undefined;
  const short = second & 0x7f;
  let behind = 2;
  if (short === 126) behind = 4;
  if (short === 127) behind = 10;
  if (bytes.length < behind + 4) {
    if (bytes.length < behind || second >= 0x80) return undefined;
  }
  let length = short;
  if (short === 126) length = bytes.readUInt16BE(2);
  if (short === 127) length = Number(bytes.readBigUInt64BE(2));
  const mask = second >= 0x80 ? bytes.subarray(behind, behind + 4) : undefined;
  const start = behind + (mask ? 4 : 0);
  if (bytes.length < start + length) return undefined;
  const content = bytes.subarray(start, start + length);
  return {
    frame: { isLast: first >= 0x80, opcode: first & 0x0f, content: mask ? masked(content, mask) : content },
    size: start + length,
  };
}

/** A client that sends what a test wants, byte by byte. */
export interface WebSocketClient {
  readonly socket: Socket;
  /** The status of the handshake; frames follow 101 alone. */
  readonly status: number;
  send(bytes: Buffer): void;
  /** Sends a message of one frame. */
  say(text: string): void;
  /** The next frame, once it is there; undefined after the end. */
  next(): Promise<Frame | undefined>;
}

/** A mask as clients have it. */
export const newMask = () => randomBytes(4);

/**
 * Opens a WebSocket at 127.0.0.1. `sent` goes with the handshake, before its answer. With the
 * certificate `trusts` it is by TLS.
 */
export async function openWebSocket(
  port: number,
  {
    from = '127.0.0.1',
    path = '/',
    headers = {} as Readonly<Record<string, string>>,
    sent = Buffer.alloc(0) as Buffer,
    trusts = undefined as string | undefined,
  } = {},
): Promise<WebSocketClient> {
  const where = { host: '127.0.0.1', port, localAddress: from };
  const socket =
    trusts === undefined ? connect(where) : connectByTls({ ...where, ca: trusts, servername: 'rpc.example' });
  const frames: Frame[] = [];
  const waiting: ((frame: Frame | undefined) => void)[] = [];
  let ended = false;
  socket
    .on('error', () => {})
    .on('close', () => {
      ended = true;
      for (const each of waiting.splice(0)) each(undefined);
    });
  const lines = Object.entries({ ...upgrade, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(
    Buffer.concat([Buffer.from(`GET ${path} HTTP/1.1\r\nhost: x\r\n${lines.join('')}\r\n`), sent]),
  );
  const { status, rest } = await answerOf(socket);
  const take = (frame: Frame) => {
    const first = waiting.shift();
    if (first) first(frame);
    else frames.push(frame);
  };
  if (status === 101) readAllFrames(socket, take, rest);
  const send = (bytes: Buffer) => void socket.write(bytes);
  return {
    socket,
    status,
    send,
    say: (text) => send(bytesOf(opcodes.text, text, { mask: newMask() })),
    next: () => {
      const first = frames.shift();
      if (first || ended) return Promise.resolve(first);
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}

function answerOf(socket: Socket): Promise<{ status: number; rest: Buffer }> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    const read = (part: Buffer) => {
      bytes = Buffer.concat([bytes, part]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      socket.off('data', read).off('close', none);
      resolve({ status: Number(bytes.toString('latin1', 9, 12)), rest: bytes.subarray(end + 4) });
    };
    const none = () => resolve({ status: 0, rest: Buffer.alloc(0) });
    socket.on('data', read).on('close', none);
  });
}

export const upgrade = {
  connection: 'upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
