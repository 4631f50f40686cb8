import { Output } from '../../engine/host/output.ts';
import { shell } from '../../engine/host/shell.ts';
import { fakeHost, runningContainer } from '../../engine/resource/testing/fake-host.ts';
import { stoppedMark } from '../rewind/stopped-mark.ts';

/** What a host of a deployment has, for tests of a rewind. */
export interface Diverged {
  readonly name?: string;
  /** The first block of the trusted sequencer that is another one than here. Default: none. */
  readonly parts?: number;
  /** The newest block here. */
  readonly newest?: number;
  /** When the state database was rewound, and when its newest block was written. */
  readonly rewound?: number;
  readonly written?: number;
  /** Seconds by which the clock of the host is ahead of that of the state database. */
  readonly ahead?: number;
  /** When the containers of the node were started; undefined for stopped ones. */
  readonly started?: string;
  readonly isRunning?: boolean;
  /** When a rewind has stopped sync, by its mark. */
  readonly stopped?: number;
  /** Answers in place of those of a chain. */
  readonly without?: 'sequencer' | 'state-db' | 'first wrong block';
  /** What the check of the backups has found. */
  readonly backupProblems?: string;
  /** What the script finds that looks for synchronizers. */
  readonly synchronizers?: string;
}

/** The newest block of the trusted sequencer. Each batch has one block. */
const head = 40;

/** The time now, by the clock of the state database. Seconds since 1970. */
const now = 1_764_151_200;

const hashOf = (block: number, isOurs: boolean) => `0x${isOurs ? 'a' : 'b'}${block}`;

/** A host whose state database and json-rpc have blocks of their own. */
export function divergedHost(given: Diverged = {}) {
  const { name = 'db-1', newest = 20, isRunning = true, started = '2026-11-26T10:00:00Z' } = given;
  const ran: string[] = [];
  const node = { ...runningContainer, running: isRunning, status: isRunning ? 'running' : 'exited' };
  const host = fakeHost([], {
    name,
    $: shell(async (command) => answerTo(command, given, newest)),
    run: shell(async (command) => {
      ran.push(command);
      if (!command.startsWith('docker exec')) return new Output(0, Buffer.of(), '');
      throw new Error('the deletion is tried on a real server');
    }),
    container: async (container) =>
      container === 'state-db' ? runningContainer : { ...node, startedAt: started },
    read: async () => Buffer.from(given.backupProblems ?? ''),
    stat: async (path) => {
      const modified = path === stoppedMark ? given.stopped : 1_764_151_000;
      if (modified === undefined) return undefined;
      return { type: 'file', mode: 0, owner: '', group: '', uid: 0, gid: 0, size: 0, modified };
    },
    sql: async (_target, query) =>
      given.without === 'state-db'
        ? { ok: false, error: 'no answer' }
        : { ok: true, rows: rowsOf(query, given, newest) },
  });
  return { host, ran };
}

function rowsOf(query: string, { rewound, without }: Diverged, newest: number) {
  if (query.includes('pg_stat_activity')) return [];
  if (query.includes('trusted_reorg')) return [[rewound === undefined ? null : String(rewound)]];
  if (query.includes('left join lateral')) {
    const block = Number(/where w\.block_num = (\d+)/.exec(query)?.[1]);
    const left = [String(block - 1), hashOf(block - 1, true)];
    const times = ['1764150000', '1764150002'];
    if (without === 'first wrong block') return [];
    return [[String(block), ...times, ...left, String(newest), String(newest), '0']];
  }
  if (!query.includes('from state.l2block')) return [];
  const atMost = /block_num <= (\d+)/.exec(query)?.[1];
  const block = atMost === undefined ? 0 : Math.min(Number(atMost), newest);
  return [[String(block), hashOf(block, true)]];
}

function answerTo(command: string, given: Diverged, newest: number): Output {
  const said = (text: string) => new Output(0, Buffer.from(text), '');
  const failed = (why: string) => new Output(1, Buffer.of(), why);
  if (command.startsWith('date ')) return said(String(now + (given.ahead ?? 0)));
  if (command.includes('synchronizers sync')) return said(given.synchronizers ?? '');
  if (command.includes('ask-state')) {
    if (given.without === 'state-db') return failed('connection refused');
    return said(given.rewound === undefined ? '' : String(now - given.rewound));
  }
  if (given.without === 'sequencer') return failed('Connection refused');
  const { parts = head + 1 } = given;
  if (command.includes(' newest-block ')) {
    const row = `${hashOf(newest, true)} ${newest} 1764150000 ${newest} ${given.written}`;
    const here = command.includes(' psql -X ') ? row : answer(blockAt(newest, newest + 1));
    return said(`${here.length}\n${here}\n${answer(blockAt(newest, parts))}`);
  }
  if (command.includes('eth_chainId')) return said(answer('0xa7b14'));
  if (command.includes('eth_blockNumber')) return said(answer(`0x${head.toString(16)}`));
  const block = /eth_getBlockByNumber","params":\["(0x[0-9a-f]+)"/.exec(command)?.[1];
  return block === undefined ? failed('not found') : said(answer(blockAt(Number(block), parts)));
}

function blockAt(block: number, parts: number) {
  return { number: `0x${block.toString(16)}`, hash: hashOf(block, block < parts), timestamp: '0x66000000' };
}

function answer(result: unknown): string {
  return `HTTP/1.1 200 OK\n\n${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}`;
}
