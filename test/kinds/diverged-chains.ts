import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Postgres } from '../postgres.ts';

const migrations = fileURLToPath(new URL('../../lab/standins/node/migrations/state', import.meta.url));

/** A chain that a JSON-RPC server serves. */
export interface Chain {
  url: string;
  id: number;
  newest: number;
  /** The first block that it has and the state database has otherwise. */
  parts: number;
  /** How many blocks it was asked for. */
  asked: number;
}

export function chainOf(id: number, newest: number, parts: number): Chain {
  return { url: '', id, newest, parts, asked: 0 };
}

function answer(chain: Chain, method: string, [block]: readonly string[] = []): unknown {
  if (method === 'eth_chainId') return `0x${chain.id.toString(16)}`;
  if (method === 'eth_blockNumber') return `0x${chain.newest.toString(16)}`;
  chain.asked += 1;
  const number = Number(block);
  if (number > chain.newest) return null;
  const hash = `0x${number < chain.parts ? 'a' : 'b'}${number}`;
  return { number: block, hash, timestamp: '0x66000000' };
}

/** Serves a chain, and sets its URL. */
export async function serve(chain: Chain, address = '127.0.0.1'): Promise<Server> {
  const server = await serveJson(address, (method, params) => answer(chain, method, params));
  chain.url = `http://${address}:${(server.address() as AddressInfo).port}`;
  return server;
}

/** Serves JSON-RPC on a free port. */
export async function serveJson(
  address: string,
  result: (method: string, params: readonly string[]) => unknown,
): Promise<Server> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => (body += data));
    request.on('end', () => {
      const { method, params, id } = JSON.parse(body);
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: result(method, params) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  return server;
}

/**
 * A new state database, with these migrations of the lab's node: blocks 0 to 30, three in each
 * batch but the first, and some of layer 1. The hash of a block is 0xa and its number.
 */
export function fillState(postgres: Postgres, names: readonly string[]): void {
  postgres.sql('postgres', 'drop database if exists state_db with (force);\ncreate database state_db');
  const made = names.map((name) => readFileSync(join(migrations, name), 'utf8')).join(';\n');
  postgres.sql(
    'state_db',
    `${made};
    insert into state.block (block_num, block_hash, received_at)
      select n, '0xa' || n, to_timestamp(1.7e9) from unnest(array[1000, 1100, 1200, 1300, 1310]) n;
    insert into state.exit_root (block_num, timestamp) select block_num, received_at from state.block;
    insert into state.forced_batch (forced_batch_num, timestamp, block_num) values (1, now(), 1100);
    insert into state.batch (batch_num, raw_txs_data, timestamp, forced_batch_num)
      select n, '\\x01', to_timestamp(1.7e9 + n), case n when 3 then 1 end from generate_series(0, 10) n;
    insert into state.virtual_batch (batch_num, block_num) values (1, 1000), (2, 1100), (3, 1200), (4, 1310);
    insert into state.verified_batch (batch_num, block_num) values (1, 1100), (2, 1310);
    insert into state.l2block (block_num, block_hash, received_at, created_at, batch_num)
      select n, '0xa' || n, to_timestamp(1.7e9 + n), to_timestamp(1.7e9 + n + 1), (n + 2) / 3 from generate_series(0, 30) n;
    insert into state.transaction (hash, encoded, l2_block_num) select '0xt' || n, '', n from generate_series(1, 30) n;
    insert into state.receipt (tx_hash, block_num) select hash, l2_block_num from state.transaction;
    insert into state.log (tx_hash, log_index, address, topic0) select hash, i, '0x1', '0x2' from state.transaction, generate_series(0, 1) i;
    insert into state.proof (batch_num, batch_num_final) values (7, 8);
    insert into state.sequences (from_batch_num, to_batch_num) values (5, 6)`,
  );
}
