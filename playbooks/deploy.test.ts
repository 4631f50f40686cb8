import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makePlan, savePlan } from '../lib/engine/run/saved-plan.ts';
import { runPlaybook } from '../test/deploy/playbook.ts';

let folder: string;
let good: string;

/** An inventory of unreachable hosts: a connection attempt would be an error. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inventory-'));
  for (const name of ['state', 'pool', 'prover'])
    await writeFile(join(folder, name), `${name}-Passw0rd`, { mode: 0o600 });
  const zeros = '0'.repeat(64);
  good = `
groups:
  database:
    db-1: { address: 127.0.0.1, port: 9 }
  rpc:
    rpc-1: { address: 127.0.0.2, port: 9 }
vars:
  network:
    kind: test
    chain_id: 55555
    trusted_sequencer_url: http://192.0.2.9:9
    l1_rpc_url: http://192.0.2.9:9
    genesis: { url: 'http://127.0.0.1:9/genesis.json', sha256: '${zeros}' }
  images: { node: 'node:v3.1.0', prover: 'prover:v6.0.2' }
  credentials:
    state: { user: state_user, database: state_db, password: 'file:state' }
    pool: { user: pool_user, database: pool_db, password: 'file:pool' }
    prover: { user: prover_user, database: prover_db, password: 'file:prover' }
  snapshot:
    date: '2026-11-01'
    state: { url: 'http://127.0.0.1:9/testnet_state_db.sql.tar.gz', sha256: '${zeros}' }
    prover: { url: 'http://127.0.0.1:9/testnet_prover_db.sql.tar.gz', sha256: '${zeros}' }
    restore_with: image
`.trimStart();
});

afterAll(() => rm(folder, { recursive: true }));

async function deploy(inventory: string, ...args: string[]) {
  const file = join(folder, `${Math.random().toString(36).slice(2)}.yaml`);
  await writeFile(file, inventory);
  const run = await runPlaybook('deploy', '--inventory', file, ...args);
  return { ...run, output: run.output.replaceAll(file, 'FILE') };
}

/** Line and column, from 1, of a text in the valid inventory after its change. */
function placeOf(text: string, needle: string): string {
  const before = text.slice(0, text.indexOf(needle)).split('\n');
  return `${before.length}:${(before.at(-1) ?? '').length + 1}`;
}

describe('bad input ends with 3, names its place, and changes nothing', () => {
  test('an unknown key', async () => {
    const bad = good.replace('trusted_sequencer_url', 'trusted_sequencer_ulr');
    const run = await deploy(bad);
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toContain(`FILE:${placeOf(bad, 'trusted_sequencer_ulr')}: `);
    expect(run.output).toContain('did you mean trusted_sequencer_url?');
  });

  test('a wrong type', async () => {
    const bad = good.replace('chain_id: 55555', 'chain_id: "a lot"');
    const run = await deploy(bad);
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toContain(`FILE:${placeOf(bad, '"a lot"')}: `);
  });

  test('a missing group', async () => {
    const bad = good.replace(/ {2}rpc:\n.*\n/, '');
    const run = await deploy(bad);
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toMatch(/FILE:\d+:\d+: .*rpc/);
  });

  test('two database hosts', async () => {
    const bad = good.replace('  rpc:\n', '    db-2: { address: 127.0.0.3, port: 9 }\n  rpc:\n');
    const run = await deploy(bad);
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toMatch(/FILE:\d+:\d+: .*only one/);
  });

  test('a duplicate address', async () => {
    const bad = good.replace('127.0.0.2', '127.0.0.1');
    const run = await deploy(bad);
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toMatch(/FILE:5:\d+: .*db-1.*127\.0\.0\.1/);
  });

  test('a placeholder that is not filled in', async () => {
    const bad = good.replace('http://127.0.0.1:9/genesis.json', '<FILL: address of the genesis file>');
    const run = await deploy(bad);
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toContain(`FILE:${placeOf(bad, "'<FILL")}: `);
    expect(run.output).toContain('address of the genesis file');
  });

  test('an unreadable secret, and a world-readable one', async () => {
    const missing = await deploy(good.replace('file:pool', 'file:nowhere'));
    expect(missing.exitCode, missing.output).toBe(3);
    expect(missing.output).toMatch(/FILE:\d+:\d+: .*nowhere/);
    await chmod(join(folder, 'pool'), 0o644);
    const open = await deploy(good);
    await chmod(join(folder, 'pool'), 0o600);
    expect(open.exitCode, open.output).toBe(3);
    expect(open.output).toMatch(/FILE:\d+:\d+: .*0600|0600/);
    expect(open.output).not.toContain('pool-Passw0rd');
  });

  test('a password that would break a file, without showing it', async () => {
    await writeFile(join(folder, 'odd'), 'p@ss/w%41rd', { mode: 0o600 });
    const run = await deploy(good.replace('file:pool', 'file:odd'));
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toMatch(/FILE:\d+:\d+: /);
    expect(run.output).not.toContain('p@ss');
  });

  test('an unknown inventory', async () => {
    const run = await runPlaybook('deploy', '--inventory', 'mainet');
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toContain('did you mean mainnet?');
  });

  test('an unknown role', async () => {
    const run = await deploy(good, '--role', 'time-snyc');
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toContain('did you mean time-sync?');
  });

  test('an unknown option', async () => {
    const run = await deploy(good, '--chekc');
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toContain('did you mean --check?');
  });

  test('an unknown host in --limit', async () => {
    const run = await deploy(good, '--limit', 'rpc-l');
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toContain('did you mean rpc-1?');
  });

  test.each([
    ['rpc-l', 'has no host "rpc-l"\n  did you mean rpc-1?'],
    ['db-1,rpc', 'has no host "rpc"'],
    ['', '--assume-stopped "": a name is missing\n  such as --assume-stopped rpc-1,rpc-2'],
  ])('an unknown host to assume stopped: "%s"', async (names, words) => {
    const run = await deploy(good, '--assume-stopped', names);
    expect(run.exitCode).toBe(3);
    expect(run.stderr).toContain(words);
  });

  test('an empty --limit, as from an unset variable: not all hosts', async () => {
    const run = await deploy(good, '--limit', '');
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toContain('the host pattern is empty');
  });

  test('names and paths with control characters', async () => {
    const evil = '\\e]0;title\\a\\e[2J';
    for (const bad of [good.replace('rpc-1:', `"${evil}":`), good.replace("'file:pool'", `"file:${evil}"`)]) {
      const run = await deploy(bad);
      expect(run.exitCode, run.output).toBe(3);
      expect(run.output).toMatch(/FILE:\d+:\d+: .*\\x1b\]0;title\\x07/);
      expect(run.output).not.toMatch(/(?!\n)\p{Cc}/u);
    }
  });

  test.each(['mainnet', 'testnet'])('%s as shipped: every unfilled value with its place', async (name) => {
    const run = await runPlaybook('deploy', '--inventory', name);
    expect(run.exitCode, run.output).toBe(3);
    const text = await readFile(new URL(`../inventory/${name}.yaml`, import.meta.url), 'utf8');
    const unfilled = text
      .split('\n')
      .flatMap((line, at) => (!line.trimStart().startsWith('#') && line.includes('<FILL:') ? [at + 1] : []));
    expect(unfilled.length).toBeGreaterThan(5);
    for (const line of unfilled) expect(run.output).toContain(`${name}.yaml:${line}:`);
  });
});

test('hosts that refuse the connection: exit code 4, each named, no stack trace', async () => {
  const run = await deploy(good, '--check');
  expect(run.exitCode, run.output).toBe(4);
  expect(run.output).toMatch(/^db-1\s+unreachable: /m);
  expect(run.output).toMatch(/^rpc-1\s+unreachable: /m);
  expect(run.output).not.toMatch(/^\s+at /m);
});

test('--set is checked like an inventory, with its own words as the place', async () => {
  const wrong = await deploy(good, '--set', 'ports.rpc_http=many');
  expect(wrong.exitCode, wrong.output).toBe(3);
  expect(wrong.output).toContain('--set ports.rpc_http: ports.rpc_http must be a whole number, not text');
  const unknown = await deploy(good, '--set', 'ports.rcp_http=80');
  expect(unknown.exitCode, unknown.output).toBe(3);
  expect(unknown.output).toMatch(
    /--set ports\.rcp_http: unknown key ports\.rcp_http\n {2}did you mean rpc_http\?/,
  );
});

test('--set never repeats a value: it may be a password', async () => {
  const run = await deploy(good, '--set', 'credentials.state.password=hunter2');
  expect(run.exitCode, run.output).toBe(3);
  expect(run.output).toContain('--set credentials.state.password: ');
  expect(run.output).not.toContain('hunter2');
});

test('--list-hosts names the chosen hosts without a connection to any', async () => {
  const run = await deploy(good, '--list-hosts', '--limit', 'rpc');
  expect(run).toMatchObject({ exitCode: 0, stdout: 'rpc-1  rpc  127.0.0.2\n' });
});

test.each([
  [
    ['--role', 'sync', '--limit', 'rpc'],
    'this run has no task: no host of --limit rpc has role sync\n  hosts for it: db-1\n',
  ],
  [
    ['--role', 'backup,gateway'],
    'this run has no task: no host of the inventory NAME has role backup, gateway\n  --help shows which groups have which roles\n',
  ],
])('%j, which chooses no task, is no run where all is well', async (words, said) => {
  const run = await deploy(good, '--check', ...words);
  expect(run.exitCode, run.output).toBe(3);
  expect(run.output.replace(/inventory \w+ has/, 'inventory NAME has')).toBe(said);
});

test('--list-hosts shows the variables that not all hosts have, with their places', async () => {
  const url = 'https://l1.example/v3/Key0123';
  const groups = `    vars: { network: { l1_rpc_url: '${url}' } }\n  asia: { rpc-1: , vars: { verify: { attempts: 9 } } }\nvars:`;
  const run = await deploy(good.replace('vars:', groups), '--list-hosts', '--limit', 'asia');
  expect(run.stdout.replaceAll(/\/\S*\.yaml/g, 'FILE')).toBe(`rpc-1  rpc,asia  127.0.0.2
  network.l1_rpc_url https://l1.example/… (group rpc, FILE:6:36)
  verify.attempts 9 (group asia, FILE:7:48)
`);
});

test('--json writes events and nothing else to standard output', async () => {
  const run = await deploy(good, '--check', '--json');
  expect(run.exitCode, run.output).toBe(4);
  const events = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(events.map(({ type }) => type)).toEqual([
    'run-started',
    'host-unreachable',
    'host-unreachable',
    'run-finished',
  ]);
  expect(events.at(-1)).toMatchObject({ format: 1, hosts: [{ unreachable: true }, { unreachable: true }] });
});

test('--quiet shows problems and the summary only', async () => {
  const run = await deploy(good, '--check', '--quiet');
  expect(run.stdout).toMatch(/^db-1 .*unreachable/m);
  expect(run.stdout).not.toContain('play:');
});

test('a question without a terminal is refused', async () => {
  const run = await deploy(good, '--step');
  expect(run.exitCode, run.output).toBe(3);
  expect(run.output).toContain('there is no terminal to ask on');
});

test('a plan or report takes the place of nothing else, and they have files of their own', async () => {
  const other = join(folder, 'other.yaml');
  await writeFile(other, good);
  for (const words of [
    ['--out', other],
    ['--report', other],
  ]) {
    const run = await deploy(good, '--check', ...words);
    expect(run.exitCode, run.output).toBe(3);
    expect(run.output).toMatch(/ is there and is not a (plan|report): it is not replaced\n/);
  }
  expect(await readFile(other, 'utf8')).toBe(good);
  const file = join(folder, 'both');
  const run = await deploy(good, '--check', '--out', file, '--report', `${folder}/./both`);
  expect(run.exitCode, run.output).toBe(3);
  expect(run.output).toContain(`--out and --report name the same file: ${file}\n  give each its own`);
});

test('a missing or invalid plan is refused', async () => {
  const run = await deploy(good, '--plan', join(folder, 'nowhere.json'));
  expect(run.exitCode, run.output).toBe(3);
  expect(run.output).toMatch(/nowhere\.json" does not exist\n {2}make one: --check --out FILE/);
});

test('a plan of another inventory is refused before a connection', async () => {
  const inventory = { name: 'x', file: join(folder, 'x.yaml'), hosts: [] };
  const file = join(folder, 'other-inventory.json');
  const chosen = { roles: [], skippedRoles: [], set: [], assumedStopped: [], own: {} };
  savePlan(makePlan([{ host: 'rpc-1', tasks: [] }], { playbook: 'deploy', inventory, chosen }, 0), file);
  const run = await deploy(good, '--plan', file);
  expect(run.exitCode, run.output).toBe(3);
  expect(run.output).toMatch(/^this is a plan of the inventory x, and \S+ is another one\n/);
  expect(run.output).not.toContain('unreachable');
});

test('a plan of another playbook, or with a host that is not in the inventory, is refused', async () => {
  const inventory = { name: 'x', file: join(folder, 'x.yaml'), hosts: [] };
  const file = join(folder, 'plan.json');
  const plan = async (playbook: string) => {
    const chosen = { roles: [], skippedRoles: [], set: [], assumedStopped: [], own: {} };
    savePlan(makePlan([{ host: 'gone-1', tasks: [] }], { playbook, inventory, chosen }, 0), file);
    return deploy(good, '--plan', file);
  };
  const other = await plan('snapshot');
  expect(other.exitCode, other.output).toBe(3);
  expect(other.output).toContain(
    'this is a plan of the playbook snapshot\n  follow it with that playbook: npx zx playbooks/snapshot.mjs --plan FILE',
  );
  const gone = await plan('deploy');
  expect(gone.exitCode, gone.output).toBe(3);
  expect(gone.output).toMatch(
    /the plan has a host gone-1, which \S+ does not have\n {2}make a new plan: --check --out FILE/,
  );
});
