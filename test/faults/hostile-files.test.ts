import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lastRuns } from '../../lib/commands/status/last-run.ts';
import { describeError } from '../../lib/engine/output/describe-error.ts';
import { readRecord } from '../../lib/engine/report/record.ts';
import { reportHtml } from '../../lib/engine/report/report-html.ts';
import { parseHolder } from '../../lib/engine/run/lock/lock-holder.ts';
import { loadPlan } from '../../lib/engine/run/saved-plan.ts';
import { encrypt } from '../../lib/engine/secret/age/age-file.ts';
import { parseRecipients } from '../../lib/engine/secret/age/recipients.ts';
import { parseSecretValues } from '../../lib/engine/secret/secret-values.ts';
import { openSecretsFile, readRecipients } from '../../lib/engine/secret/secrets-file.ts';
import { takenOrRefused } from './outcome.ts';
import { seed } from './seed.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'hostile-files-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Bytes of a valid file, with some removed, changed and inserted; or truncated. */
function damaged(good: Buffer): fc.Arbitrary<Buffer> {
  const edits = fc.array(fc.tuple(fc.nat(good.length), fc.nat(8), fc.uint8Array({ maxLength: 8 })), {
    minLength: 1,
    maxLength: 4,
  });
  const edited = edits.map((all) =>
    all.reduce(
      (bytes, [at, cut, put]) => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]),
      good,
    ),
  );
  return fc.oneof(
    edited,
    fc.nat(good.length).map((at) => good.subarray(0, at)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  );
}

/** A JSON document with some of its values replaced. */
function exchanged(good: unknown): fc.Arbitrary<unknown> {
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>(
      -1,
      1e308,
      '',
      '</script><script>alert(1)</script>',
      '\u001b[2J',
      { toString: 1 },
      'constructor',
      '__proto__',
    ),
  );
  return fc
    .array(fc.tuple(fc.nat(1000), value, fc.constantFrom('put', 'drop')), { minLength: 1, maxLength: 3 })
    .map((edits) => {
      const copy = structuredClone(good) as Record<string, unknown>;
      for (const [at, put, how] of edits) {
        const places: [Record<string, unknown>, string][] = [];
        const walk = (node: unknown): void => {
          if (typeof node !== 'object' || node === null) return;
          for (const key of Object.keys(node)) {
            places.push([node as Record<string, unknown>, key]);
            walk((node as Record<string, unknown>)[key]);
          }
        };
        walk(copy);
        const [of, key] = places[at % places.length] ?? [copy, 'x'];
        if (how === 'put') of[key] = put;
        else delete of[key];
      }
      return copy;
    });
}

const plan = {
  format: 1,
  made: '2024-11-21T16:42:35.000Z',
  playbook: 'deploy',
  inventory: { name: 'lab', file: 'inventory/lab.yaml', salt: '00', hash: '00' },
  chosen: { roles: [], skippedRoles: [], set: ['a=b'] },
  hosts: [
    {
      host: 'h',
      tasks: [
        {
          play: 'p',
          role: 'r',
          resource: 'x',
          outcome: 'pending',
          predicted: false,
          differences: [{ what: 'w', was: 'a', wanted: 'b' }],
          commands: ['true'],
        },
      ],
    },
  ],
};

const task = { host: 'h', play: 'p', role: 'r', resource: 'x' };
const at = (second: number) => ({ format: 1, time: `2024-11-21T16:42:${second}.000Z` });
const record = [
  { ...at(10), type: 'run-started', playbook: 'deploy', inventory: 'lab', check: false, hosts: ['h'] },
  { ...at(11), type: 'host-connected', host: 'h', seconds: 1 },
  { ...at(12), type: 'play-started', play: 'p', hosts: ['h'] },
  { ...at(13), type: 'resource-started', ...task },
  { ...at(14), type: 'progress', ...task, what: 'copying', done: 1, total: 2, unit: 'bytes' },
  {
    ...at(15),
    type: 'resource-done',
    ...task,
    outcome: 'changed',
    differences: [{ what: 'w', was: 'a', wanted: 'b' }],
    seconds: 2,
    note: 'n',
    error: 'e',
    commands: [],
  },
  { ...at(16), type: 'host-stopped', host: 'h', play: 'p', why: 'w', left: 1, next: 'y' },
  {
    ...at(17),
    type: 'run-finished',
    seconds: 7,
    interrupted: false,
    hosts: [
      {
        host: 'h',
        counts: { ok: 1, changed: 1, pending: 0, unknown: 0, warning: 0, failed: 0 },
        seconds: 1,
        unreachable: false,
        roundTrips: 3,
      },
    ],
  },
];

describe('hostile files', () => {
  test('3,000 damaged plans: taken or refused', { timeout: 120_000 }, async () => {
    const file = join(folder, 'plan.json');
    const good = Buffer.from(JSON.stringify(plan));
    const contents = fc.oneof(
      damaged(good),
      exchanged(plan).map((value) => Buffer.from(JSON.stringify(value))),
    );
    await fc.assert(
      fc.asyncProperty(contents, async (bytes) => {
        writeFileSync(file, bytes);
        await takenOrRefused(() => loadPlan(file), bytes.toString('latin1'));
      }),
      { numRuns: 3000, seed },
    );
  });

  test('3,000 damaged run records: a page without markup of theirs, or a refusal', {
    timeout: 240_000,
  }, async () => {
    const file = join(folder, '20241121T164235Z-lab.ndjson');
    const asLines = (events: unknown) =>
      Buffer.from(
        Object.values(Object(events) as object)
          .map((event) => `${JSON.stringify(event)}\n`)
          .join(''),
      );
    await fc.assert(
      fc.asyncProperty(fc.oneof(damaged(asLines(record)), exchanged(record).map(asLines)), async (bytes) => {
        writeFileSync(file, bytes);
        const html = await takenOrRefused(() => reportHtml(readRecord(file)), bytes.toString('latin1'));
        expect(html ?? '').not.toContain('<script>alert');
        await takenOrRefused(() => lastRuns(folder, 'lab'), bytes.toString('latin1'));
      }),
      { numRuns: 3000, seed },
    );
  });

  test('2,000 damaged secrets files and their plain texts: opened or refused, no value shown', {
    timeout: 240_000,
  }, async () => {
    const file = join(folder, 'lab.secrets.age');
    const good = Buffer.from(await encrypt('state_db_password: hostile-Pw-123\n', { passphrase: 'p' }, 1));
    const keys = { environment: { RPC_PLAYBOOKS_PASSPHRASE: 'p' }, home: folder };
    await fc.assert(
      fc.asyncProperty(damaged(good), async (bytes) => {
        writeFileSync(file, bytes);
        await takenOrRefused(() => openSecretsFile(file, keys), bytes.toString('latin1'));
        await takenOrRefused(() => parseRecipients(bytes.toString('latin1'), 'f'), bytes.toString('latin1'));
      }),
      { numRuns: 600, seed },
    );
    await fc.assert(
      fc.asyncProperty(
        damaged(Buffer.from('# c\na: hostile-Pw-123\nprevious:\n  a: hostile-Pw-456\n')),
        async (bytes) => {
          const text = bytes.toString();
          await takenOrRefused(() => {
            try {
              return parseSecretValues(text, 'f');
            } catch (error) {
              expect(describeError(error)).not.toMatch(/hostile-Pw/);
              throw error;
            }
          }, text);
        },
      ),
      { numRuns: 1400, seed },
    );
  });

  test.each([
    ['nested without end', '['.repeat(250_000)],
    ['of a hundred thousand names', Array.from({ length: 100_000 }, (_, i) => `k${i}: v`).join('\n')],
    ['of one name a hundred thousand times', 'a: b\n'.repeat(100_000)],
  ])('the plain text of a secrets file %s is judged within seconds', { timeout: 60_000 }, async (_, text) => {
    await takenOrRefused(() => parseSecretValues(text, 'f'), text.slice(0, 40));
  });

  test('a device, a pipe or a folder in the place of a file is refused and not waited for', async () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const target of ['/dev/zero', pipe, folder]) {
      rmSync(join(folder, 'x.secrets.age'), { force: true });
      rmSync(join(folder, 'x.secrets.recipients'), { force: true });
      symlinkSync(target, join(folder, 'x.secrets.age'));
      symlinkSync(target, join(folder, 'x.secrets.recipients'));
      const reads = [
        () => openSecretsFile(join(folder, 'x.secrets.age'), { environment: {}, home: folder }),
        () => readRecipients(join(folder, 'x.secrets.age')),
        () => loadPlan(target),
        () => readRecord(target),
      ];
      for (const read of reads)
        expect(await takenOrRefused<unknown>(read, target), `${target}`).toBeUndefined();
    }
  });

  test("2,000 notes of a lock's holder, as a host may show them: read or not, never a crash", () => {
    const holder = {
      token: 't',
      who: 'a@b',
      playbook: 'deploy',
      inventory: 'lab',
      since: 'x',
      process: { pid: 1, start: '1', machine: 'm' },
    };
    fc.assert(
      fc.property(
        fc.oneof(
          exchanged(holder).map((value) => JSON.stringify(value)),
          fc.string({ unit: 'binary' }),
        ),
        (text) => {
          parseHolder(text);
        },
      ),
      { numRuns: 2000, seed },
    );
  });
});
