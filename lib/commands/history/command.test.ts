import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Session } from '../../engine/host/session.ts';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { eventFormat } from '../../engine/output/event-json.ts';
import { fakeHost, rootsFile } from '../../engine/resource/testing/fake-host.ts';
import { labDeployment } from '../../node/testing/lab-deployment.ts';
import { run as historyCommand } from './command.ts';

const begin = (run: string, time: string, more = {}) =>
  JSON.stringify({
    at: 'begin',
    run,
    time,
    who: 'a@ctl',
    playbook: 'deploy',
    inventory: 'lab',
    plan: 'p',
    ...more,
  });
const end = (run: string, more = {}) =>
  JSON.stringify({
    at: 'end',
    run,
    time: '2024-11-21T17:00:00Z',
    ended: 'converged',
    changed: [],
    failed: [],
    ...more,
  });

const journals: Readonly<Record<string, string>> = {
  'db-1': [
    begin('1', '2024-11-21T16:00:00.000Z', { commit: 'abc-dirty' }),
    end('1', { changed: ['file /etc/a', 'b'] }),
    begin('2', '2024-11-21T16:30:00.000Z', { who: 'b@other', playbook: 'rollback' }),
  ].join('\n'),
  'rpc-1': [
    begin('1', '2024-11-21T16:00:01.000Z'),
    'not JSON',
    end('1', { ended: 'failed', failed: ['json-rpc listens'] }),
  ].join('\n'),
};
const releases: Readonly<Record<string, string>> = {
  'rpc-1': `4/manifest:image prover r:5000/prover:v6 sha256:1 -\n3/manifest:image prover r:5000/prover:v5 sha256:0 -\n`,
};

/**
 * Records of check mode: two hosts and an unreachable one, a killed one, a damaged one; and of
 * another inventory.
 */
function records(): string {
  const folder = temporaryDirectory();
  const event = (type: string, more: object) =>
    JSON.stringify({ format: eventFormat, time: '2024-11-21T16:42:35.000Z', type, ...more });
  const started = event('run-started', {
    playbook: 'deploy',
    inventory: 'lab',
    check: true,
    hosts: ['db-1'],
  });
  const row = (host: string, counts: object, unreachable = false) => ({
    host,
    counts,
    seconds: 1,
    unreachable,
    roundTrips: 2,
  });
  const hosts = [
    row('db-1', { ok: 9 }),
    row('rpc-1', { ok: 1, pending: 2, failed: 1 }),
    row('rpc-2', {}, true),
  ];
  const finished = event('run-finished', { hosts, seconds: 1, interrupted: false });
  const write = (name: string, text: string) => writeFileSync(join(folder, `${name}.ndjson`), text);
  write('20241121T164235Z-lab.check', `${started}\n${finished}\n`);
  write('20241121T154235Z-lab.check', `${started}\n`);
  write('20241121T144235Z-lab.check', 'x\n\n');
  write('20241121T164236Z-lab', `${started}\n${finished}\n`);
  write('20241121T164236Z-other.check', `${started}\n${finished}\n`);
  return folder;
}

async function history(...args: readonly string[]) {
  const folder = records();
  const said: string[] = [];
  const code = await historyCommand(['-i', await labDeployment(), ...args], {
    open: async ({ name }) => {
      if (!(name in journals)) throw new Error(`${name}: no answer`);
      const answers = [
        [/^tail/, journals[name] ?? ''],
        [/grep/, releases[name] ?? ''],
      ] as const;
      const stat = async () => ({ ...rootsFile, type: 'link' as const, target: '4' });
      return { reader: fakeHost(answers, { stat }), close: async () => {} } as unknown as Session;
    },
    say: (line) => void said.push(line),
    complain: (line) => void said.push(line),
    folder,
  });
  return { code, said };
}

test('the journals of all hosts are one history, newest first, and a run without an end is named as one', async () => {
  expect(await history('--limit', 'db-1,rpc-1')).toEqual({
    code: 0,
    said: [
      '2024-11-21 16:30:00  rollback of lab by b@other',
      '    db-1   interrupted or killed, or it still runs',
      '2024-11-21 16:00:00  deploy of lab by a@ctl, commit abc-dirty',
      '    db-1   converged, 2 changed',
      '    rpc-1  failed: json-rpc listens, 0 changed',
      'check mode, from here',
      '    2024-11-21 16:42:35  db-1 no drift; rpc-1 2 pending, 1 failed; rpc-2 unreachable',
      '    2024-11-21 15:42:35  it did not end',
      '    2024-11-21 14:42:35  its record is damaged',
      'releases (* is deployed)',
      '    rpc-1  *4  prover v6',
      '    rpc-1   3  prover v5',
      '    rpc-1  1 lines of its journal cannot be read',
    ],
  });
});

test('a host that does not answer is named, and the number of runs can be chosen', async () => {
  const { code, said } = await history('--last', '1', '--verbose');
  expect(code).toBe(4);
  expect(said[0]).toBe('rpc-2  unreachable: no answer');
  expect(said.filter((line) => / of lab by /.test(line))).toHaveLength(1);
});

test('--json is one document', async () => {
  const { said } = await history('--json');
  expect(JSON.parse(said.join('\n'))).toMatchObject({
    runs: [
      { run: '2' },
      { run: '1', hosts: [{ host: 'db-1', plan: 'p', end: { changed: ['file /etc/a', 'b'] } }, {}] },
    ],
    releases: [{ host: 'rpc-1', number: 4, isCurrent: true }, { number: 3 }],
    checks: [
      {
        time: '2024-11-21T16:42:35.000Z',
        hosts: [
          { host: 'db-1', found: 'no drift' },
          { host: 'rpc-1', found: '2 pending, 1 failed' },
          { host: 'rpc-2', found: 'unreachable' },
        ],
      },
      { why: 'it did not end' },
      {},
    ],
    unreachable: { 'rpc-2': 'rpc-2: no answer' },
  });
});
