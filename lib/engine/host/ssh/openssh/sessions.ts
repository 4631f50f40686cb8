import { execFile, spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ChannelRefused, type CommandEnd, type Listener, type Open } from '../link.ts';
import type { Master } from './master.ts';

/** Reaches the master alone: without one, ssh would make a connection of its own. */
export const throughMaster = (socket: string): readonly string[] => [
  ...['-F', 'none', '-S', socket],
  ...['ControlMaster=no', 'ProxyCommand=false', 'LogLevel=ERROR'].flatMap((option) => ['-o', option]),
];

/** ssh needs a name of the host, which the master knows already. */
export const anyHost = ['--', 'host'];

const ended = 'the master of the connection has ended';

/** What ssh ends with where it has no exit code of the command. */
const noCode = 255;

/** Seconds that a master without a connection may take to end. */
const endsWithin = 5;

/** Runs each command by an ssh of its own, over the connection of the master. */
export function sessionsOf(master: Master): Open {
  let count = 0;
  return async (line, input, listener) => {
    if (master.isEnded()) throw new Error(ended);
    count += 1;
    // What ssh itself says is not the standard error of the command.
    const log = join(master.folder, `${count}.log`);
    const end = await runSession(master.socket, log, line, input, listener);
    // The folder of the log goes with the master.
    if (end.code === 1 && end.stderr.toString().startsWith("Couldn't open logfile")) throw new Error(ended);
    if (end.code !== noCode) return end;
    const said = readLog(log);
    if (/^mux_client_request_session: session request failed: Session open refused/m.test(said))
      throw new ChannelRefused(said.trim());
    if (await isAlive(master)) return end;
    await Promise.race([master.ended, delay(endsWithin * 1000, undefined, { ref: false })]);
    throw new Error(said.trim() || ended);
  };
}

function runSession(
  socket: string,
  log: string,
  line: string,
  input: Buffer | undefined,
  { onOpen, onStdout, onStderr }: Listener,
): Promise<CommandEnd> {
  const words = [...throughMaster(socket), '-E', log, '-T', ...anyHost, line];
  // In its own session, so that Ctrl-C ends only this program.
  const child = spawn('ssh', words, { detached: true, stdio: 'pipe' });
  onOpen({ close: () => child.kill('SIGKILL') });
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout.push(chunk);
    onStdout(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr.push(chunk);
    onStderr(chunk);
  });
  // A command need not read all of its input.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', reject).on('close', (code, signal) => {
      if (code !== noCode) rmSync(log, { force: true });
      resolve({ code, signal, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr) });
    });
  });
}

function readLog(log: string): string {
  try {
    return readFileSync(log, 'utf8');
  } catch {
    // It went with the folder of the master.
    return '';
  }
}

function isAlive(master: Master): Promise<boolean> {
  if (master.isEnded()) return Promise.resolve(false);
  const words = [...throughMaster(master.socket), '-O', 'check', ...anyHost];
  return new Promise((resolve) => {
    execFile('ssh', words, { timeout: endsWithin * 1000 }, (error) => resolve(!error));
  });
}
