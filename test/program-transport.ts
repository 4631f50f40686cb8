import { spawn } from 'node:child_process';
import type { Transport } from '../lib/engine/host/transport/transport.ts';

/** A program with its arguments and environment, to which a command is given. */
interface Program {
  readonly words: readonly string[];
  /** Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * A connection to a host of this machine, such as one in namespaces: each command is the last
 * argument of a program.
 *
 * @param program asked for before each command
 */
export function programTransport(program: () => Promise<Program> | Program): Transport {
  return {
    async run(command, input) {
      const { words, env } = await program();
      const [name = '', ...rest] = words;
      const child = spawn(name, [...rest, command], { env: env ?? process.env });
      const stdout: Buffer[] = [];
      const stderr: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
      child.stdin.on('error', () => {});
      child.stdin.end(input);
      const code = await new Promise<number>((resolve) =>
        child.on('close', (ended) => resolve(ended ?? 255)),
      );
      return { code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) };
    },
    async close() {},
  };
}
