import { chmod, copyFile, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../engine/host/testing/local-connection.ts';
import { labDeployment } from '../../node/testing/lab-deployment.ts';
import { run as renderCommand } from './command.ts';

async function run(...args: string[]): Promise<{ code: number; said: string[]; complained: string[] }> {
  const said: string[] = [];
  const complained: string[] = [];
  const code = await renderCommand(args, {
    paint: () => (_, text) => text,
    say: (line) => said.push(line),
    complain: (line) => complained.push(line),
  });
  return { code, said, complained };
}

test('every file of every host is written with mode 0600, also over older files', async () => {
  const out = join(temporaryDirectory(), 'deep/out');
  const inventory = await labDeployment();
  const first = await run('--inventory', inventory, '--out', out);
  expect(first).toMatchObject({ code: 0, complained: [] });
  expect(await readdir(out)).toEqual(['db-1', 'rpc-1', 'rpc-2']);
  expect(await readdir(join(out, 'db-1'))).toEqual([
    'docker-compose.yml',
    'init_prover_db.sql',
    'node.config.toml',
    'prover.config.json',
    'snapshot_restore.toml',
  ]);
  expect(first.said).toHaveLength(11);

  const file = join(out, 'rpc-1/node.config.toml');
  const content = await readFile(file, 'utf8');
  expect(content).toContain('Password = "state.Pw~1"');
  await writeFile(file, 'older');
  await chmod(file, 0o644);
  const second = await run('--inventory', inventory, '--out', out, '--limit', 'rpc-1');
  expect(second.said).toHaveLength(3);
  expect(await readFile(file, 'utf8')).toBe(content);
  for (const path of first.said) expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test('bad input ends with 3 and one clear message, and writes nothing', async () => {
  const out = join(temporaryDirectory(), 'out');
  const inventory = await labDeployment();
  const refused = async (message: string, ...args: string[]) =>
    expect(await run(...args)).toEqual({ code: 3, said: [], complained: [message] });
  await refused(
    'unknown option "--inventry"\n  did you mean --inventory?',
    '--inventry',
    inventory,
    '--out',
    out,
  );
  await refused(
    'no host or group is called "rcp-1"\n  did you mean rpc-1?',
    '-i',
    inventory,
    '--out',
    out,
    '--limit',
    'rcp-1',
  );
  await refused(
    'none of --out, --diff and --explain is given\n  write files: --out DIR; compare them: --diff OTHER; look up a variable: --explain KEY',
    '-i',
    inventory,
  );
  await refused('unexpected word "x"\n  did you mean --inventory x?', 'x');
  await refused('--out is given twice\n  keep one of the two', '--out', out, '-o', out, '-i', inventory);
  await writeFile(out, '');
  await refused(
    `cannot write ${join(out, 'db-1/docker-compose.yml')} (ENOTDIR)`,
    '-i',
    inventory,
    '--out',
    out,
  );
  const open = await run('--inventory', 'mainnet', '--out', out);
  expect(open.code).toBe(3);
  expect(open.complained[0]).toContain('inventory/mainnet.yaml');
});

test('--diff shows what another generation or inventory changes, and no secret', async () => {
  const one = await labDeployment();
  const other = await labDeployment([
    [['vars', 'node_config'], { Log: { Level: 'debug' } }],
    [['groups', 'rpc', 'rpc-2'], undefined],
  ]);
  await writeFile(join(other, '../../.lab/secrets/pool_db_password'), 'another.Pw~9', { mode: 0o600 });

  expect(await run('-i', one, '--diff', one)).toEqual({
    code: 0,
    said: [`no difference between ${one} and ${one}`],
    complained: [],
  });

  const compared = await run('-i', one, '--diff', other);
  expect(compared).toMatchObject({ code: 2, complained: [] });
  const text = compared.said.join('\n');
  // Both are called lab.
  expect(compared.said.slice(0, 2)).toEqual([`--- ${one}`, `+++ ${other}`]);
  expect(text).toMatch(
    /\nrpc-1\/node\.config\.toml\n@@ .*\n[\s\S]*\n-Level = "info"[^\n]*\n\+Level = "debug"/,
  );
  expect(text).toContain('\na secret differs, too, and is not shown');
  expect(text).toContain(`\nrpc-2: only in ${one}`);
  expect(text).not.toMatch(/Pw~/);

  const older = await run('-i', one, '--diff', 'older', '--limit', 'db-1');
  expect(older.code).toBe(2);
  expect(older.said.join('\n')).toMatch(/\+\+\+ lab, older generation\ndb-1\/docker-compose\.yml\n/);
  expect(older.said.join('\n')).toMatch(/\n-\[State\.DB\]\n(\+#[^\n]*\n)?\+\[StateDB\]\n/);
  expect(older.said.join('\n')).not.toContain('rpc-1');

  expect((await run('-i', one, '--diff', 'oldr')).complained[0]).toContain(
    'did you mean the generation older?',
  );
  expect((await run('-i', one, '--diff', 'older', '--out', 'x')).complained[0]).toContain(
    'do not go together',
  );
});

test('--diff reports a changed secret only where nothing else on its line differs', async () => {
  const one = await labDeployment();
  const secret = await labDeployment();
  await writeFile(join(secret, '../../.lab/secrets/pool_db_password'), 'another.Pw~9', { mode: 0o600 });
  const [said] = [(await run('-i', one, '--diff', secret, '--limit', 'rpc-1')).said.slice(2)];
  expect(said).toEqual([
    'rpc-1/docker-compose.yml',
    'a secret differs and is not shown',
    'rpc-1/node.config.toml',
    'a secret differs and is not shown',
  ]);

  const moved = await labDeployment([
    [['vars', 'credentials', 'prover', 'database'], 'moved_db'],
    [['vars', 'ports'], { state_db: 6000 }],
  ]);
  const lines = (await run('-i', one, '--diff', moved, '--limit', 'rpc-1')).said;
  expect(lines).toContain(
    '+  "databaseURL": "postgresql://prover_user:[secret]@172.30.77.11:6000/moved_db",',
  );
  expect(lines.join('\n')).not.toMatch(/a secret differs|Pw~|-.*config-hash/);
});

test('--diff with a generation that does not fit the inventory names that generation', async () => {
  const inventory = await labDeployment([
    [['vars', 'node_config'], { RPC: { BatchRequestsLimit: 5 } }],
    [['vars', 'images', 'node'], 'r:5000/node:v3.1.0'],
  ]);
  const { code, complained } = await run('-i', inventory, '--diff', 'older');
  expect(code).toBe(3);
  expect(complained[0]?.replaceAll(/^.*lab\.yaml:\d+:\d+: /gm, '')).toBe(
    `${[
      'as generation older (--diff): images.node is of the current generation, and generation is older',
      'as generation older (--diff): node_config.RPC.BatchRequestsLimit is not a key of the template',
    ].join('\n')}\n  to compare anyway, write an inventory for the older generation: --diff NAME`,
  );
});

test('no output controls the terminal or shows a secret', async () => {
  const plain = await labDeployment();
  const name = join(dirname(plain), 'x\u001b[31m.yaml');
  await copyFile(plain, name);
  const out = join(temporaryDirectory(), 'state.Pw~1');
  const { said } = await run('-i', name, '--out', out, '--limit', 'rpc-1');
  expect(said.join()).toContain('/[secret]/rpc-1/node.config.toml');
  expect((await run('-i', name, '--diff', 'older', '--limit', 'rpc-1')).said.slice(0, 2)).toEqual([
    '--- x\\x1b[31m',
    '+++ x\\x1b[31m, older generation',
  ]);
});

test.each(['/proc/x', '/sys', '/dev/out'])('--out %s is refused', async (out) => {
  const { complained } = await run('-i', await labDeployment(), '--out', out);
  expect(complained).toEqual([
    `${out} is in /proc, /sys or /dev, which keep no files\n  name another folder`,
  ]);
});

test('--help is printed', async () => {
  expect((await run('--help')).said[0]).toContain('--inventory NAME|FILE');
});

test('--explain shows where a variable comes from on each host, and no key of an address', async () => {
  const file = await labDeployment([
    [
      ['groups', 'rpc', 'vars'],
      { ports: { rpc_http: 8200 }, network: { l1_rpc_url: 'https://l1.example/v3/Key0123' } },
    ],
    [['groups', 'rpc', 'rpc-2', 'vars'], { ports: { rpc_http: 8300 } }],
  ]);
  const explain = async (...args: string[]) => {
    const { code, said, complained } = await run('-i', file, '--explain', ...args);
    expect(code, complained.join()).toBe(0);
    return said.map((line) => line.replace(/\S+lab\.yaml:\d+:\d+/, 'lab.yaml')).join('\n');
  };
  expect(await explain('ports.rpc_http')).toBe(`db-1
  ports.rpc_http: 8123
    default
rpc-1
  ports.rpc_http: 8200
    group rpc  lab.yaml
rpc-2
  ports.rpc_http: 8300
    host rpc-2  lab.yaml
    group rpc   lab.yaml  8200`);
  const address = await explain('network', '-l', 'rpc-1');
  expect(address).toMatch(
    /^ {2}network\.l1_rpc_url: https:\/\/l1\.example\/…\n {4}group rpc {2}lab\.yaml\n {4}vars {7}lab\.yaml {2}http:/m,
  );
  expect(address).not.toContain('Key0123');
  expect(await explain('credentials.pool', '-l', 'rpc-1')).toMatch(/password: file:\S+\n {4}vars/);
  expect(await explain('region', '-l', 'rpc-1')).toBe('rpc-1\n  region: not set, and without a default');
});

test.each([
  ['ports.rpc_htpp', '--explain ports.rpc_htpp: unknown key ports.rpc_htpp\n  did you mean rpc_http?'],
  ['ports.', '"ports." is no key\n  such as ports or ports.rpc_http'],
  ['prots', '--explain prots: unknown key prots\n  did you mean ports?'],
  ['ports.rpc_http.x', '--explain ports.rpc_http.x: ports.rpc_http is one value, without keys below it'],
])('--explain %s is refused', async (key, said) => {
  const { code, complained } = await run('-i', await labDeployment(), '--explain', key);
  expect([code, complained]).toEqual([3, [said]]);
});
