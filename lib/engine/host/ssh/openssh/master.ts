import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { readProgram, readScript } from '../../script.ts';

const script = readScript(new URL('master.sh', import.meta.url));
const askOperator = readProgram(new URL('ask-operator.sh', import.meta.url));

/** ssh binds its socket under a longer name first, and a system allows some 100 bytes. */
const longestFolder = 60;

/** Seconds that ssh may take to end. */
const endsWithin = 2;

/** ssh says this once it is logged in, and takes commands from then on. */
const loggedIn = 'debug1: Entering interactive session';

/** After the login, the last words of ssh are why the connection ended. */
const keptLines = 20;

/** An ssh that holds a connection, on which others run commands. */
export interface Master {
  /** Its socket. */
  readonly socket: string;
  /** Of this user alone; it goes with the master. */
  readonly folder: string;
  /** Resolves with the login, or with the end. */
  readonly ready: Promise<'logged in' | 'ended'>;
  readonly ended: Promise<void>;
  /** Whether it has ended. */
  isEnded(): boolean;
  /** The lines of its standard error. */
  said(): readonly string[];
  /** Ends it. */
  end(): Promise<void>;
}

/** A folder of this user alone, with a path that is short enough for a socket in it. */
export function privateFolder(): string {
  const usual = tmpdir();
  // ssh expands `%` and `$` in the path of its socket.
  const isUsable = usual.length <= longestFolder && !/[%$~]/.test(usual) && existsSync(usual);
  return mkdtempSync(join(isUsable ? usual : '/tmp', 'rpc-ssh-'));
}

/** Who sits at the terminal. */
interface Operator {
  answer(question: string): Promise<string>;
  /** What ssh waits for, such as the touch of a security key. */
  tell(notice: string): void;
}

/**
 * Starts ssh. It ends with this process, however that ends.
 *
 * @param folder of privateFolder
 * @param words the arguments of ssh, without the socket
 * @param operator answers a question of ssh, and reads what ssh waits for; undefined where nobody
 * can be asked. Where an answer rejects, the master ends
 */
export function startMaster(
  folder: string,
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
  operator: Operator | undefined,
): Master {
  const nonce = randomBytes(12).toString('hex');
  const socket = join(folder, 's');
  // Without a terminal ssh asks by the operator's own program, where there is one.
  const asking = operator ? askedBy(folder, nonce) : { SSH_ASKPASS_REQUIRE: 'force' };
  const child = spawn('/bin/sh', ['-c', script, 'master', folder, 'ssh', '-M', '-S', socket, ...words], {
    // In its own session, so that Ctrl-C ends only this program.
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
    env: { ...environment, ...asking },
  });
  const lives = child.stdio[3] as Writable;
  const input = child.stdin as Writable;
  for (const stream of [lives, input]) stream.on('error', () => {});
  let isEnded = false;
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve()).once('close', () => resolve());
  }).then(() => {
    isEnded = true;
    rmSync(folder, { recursive: true, force: true });
  });
  const end = async () => {
    lives.end();
    const timer = setTimeout(() => killGroup(child.pid), endsWithin * 1000);
    await ended;
    clearTimeout(timer);
  };
  const onQuestion = (question: string) => {
    operator?.answer(question).then(
      (text) => input.write(`${text}\n`),
      () => end(),
    );
  };
  const { said, login } = readLines(child.stderr as Readable, nonce, {
    onQuestion,
    onNotice: (notice) => operator?.tell(notice),
  });
  const ready = Promise.race([login.then(() => 'logged in' as const), ended.then(() => 'ended' as const)]);
  return { socket, folder, ready, ended, isEnded: () => isEnded, said, end };
}

/** The program that asks for ssh, and its environment. */
function askedBy(folder: string, nonce: string): NodeJS.ProcessEnv {
  const program = join(folder, 'ask');
  writeFileSync(program, askOperator, { mode: 0o700 });
  return {
    SSH_ASKPASS: program,
    SSH_ASKPASS_REQUIRE: 'force',
    // An ssh before 8.4 asks by a program only where there is a display.
    DISPLAY: process.env.DISPLAY ?? 'none',
    RPC_PLAYBOOKS_QUESTION: nonce,
  };
}

/** What ssh says by its program for questions. */
interface Heard {
  readonly onQuestion: (question: string) => void;
  readonly onNotice: (notice: string) => void;
}

/** Follows what ssh says. */
function readLines(from: Readable, nonce: string, { onQuestion, onNotice }: Heard) {
  const lines: string[] = [];
  let rest = '';
  let isLoggedIn = false;
  const login = new Promise<void>((resolve) => {
    from.setEncoding('utf8').on('data', (chunk: string) => {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts.map((part) => part.replace(/\r$/, ''))) {
        if (line.startsWith(nonce)) {
          const text = Buffer.from(line.slice(nonce.length + 2), 'base64').toString();
          (line[nonce.length] === '!' ? onNotice : onQuestion)(text);
          continue;
        }
        if (isLoggedIn && line.startsWith('debug')) continue;
        lines.push(line);
        if (isLoggedIn) lines.splice(0, lines.length - keptLines);
        if (line.startsWith(loggedIn)) {
          isLoggedIn = true;
          lines.splice(0);
          resolve();
        }
      }
    });
  });
  return { login, said: () => (rest === '' ? lines : [...lines, rest]) };
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
