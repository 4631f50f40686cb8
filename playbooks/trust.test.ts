import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { putFile } from '../lib/engine/file/testing/other-users.ts';
import { filledInventory } from '../lib/node/testing/filled-inventory.ts';

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const isRoot = process.getuid?.() === 0;
const [alice, mallory] = [1234, 1235] as const;
const script = join(root, 'lib/start/rpc-playbooks.mjs');

interface As {
  readonly uid?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** The program, in a working directory. */
function program(cwd: string, words: readonly string[], { uid, env = {} }: As = {}) {
  const { SUDO_UID: _, RPC_PLAYBOOKS_TRUST: __, ...rest } = process.env;
  const own = uid === undefined ? {} : { uid, gid: uid };
  const surroundings = { ...rest, NO_COLOR: '1', ...(uid !== undefined && { HOME: '/nowhere' }), ...env };
  return spawnSync(process.execPath, [script, ...words], {
    cwd,
    env: surroundings,
    encoding: 'utf8',
    ...own,
  });
}

/** A clone in a closed folder is for root alone. */
const othersMayRun = isRoot && program('/', ['--version'], { uid: alice }).status === 0;

/**
 * A folder that everybody may enter, and a project folder in it whose inventory leaves a mark when
 * it is used.
 */
let top: string;
let fleet: string;
let inventory: string;
let mark: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'trust-'));
  chmodSync(top, 0o755);
  mark = join(top, 'marks/mark');
  mkdirSync(join(top, 'marks'));
  chmodSync(join(top, 'marks'), 0o1777);
  fleet = project(join(top, 'fleet'));
  inventory = join(fleet, 'inventory/one.yaml');
});
afterEach(() => rmSync(top, { recursive: true }));

function project(folder: string, more = ''): string {
  mkdirSync(join(folder, 'inventory'), { recursive: true });
  writeFileSync(join(folder, 'rpc-playbooks.yaml'), '');
  writeFileSync(join(folder, 'inventory/one.yaml'), text() + more);
  return folder;
}

function text(reference = `cmd:touch ${mark}; echo Passw0rd-of-a-test`): string {
  const answers = {
    database: '127.0.0.1',
    rpc: '127.0.0.2',
    password: 'password',
    url: 'http://no-such-host.invalid:9/x',
  };
  const filled = filledInventory(readFileSync(join(root, 'inventory/testnet.yaml'), 'utf8'), answers);
  return filled.replaceAll('file:password', `'${reference}'`).replace('# ssh:', 'ssh: { port: 9 }\n# ssh:');
}

/** The hint that names a folder, and no part of it. */
function trusting(folder: string): RegExp {
  return new RegExp(`RPC_PLAYBOOKS_TRUST=${folder}$`, 'm');
}

/**
 * Gives a folder, and all in it, to a user. What a link leads to stays as it is: the packages of
 * this project are behind one.
 */
function give(folder: string, uid: number): void {
  execFileSync('chown', ['-R', '-h', '-P', `${uid}:${uid}`, folder]);
}

function sticky(): string {
  const folder = join(top, 'shared');
  mkdirSync(folder);
  chmodSync(folder, 0o1777);
  return folder;
}

const validate = ['validate', '--inventory', 'one'];

test('an own folder is used, and its commands are run', () => {
  const run = program(fleet, validate);
  expect(run.stdout, run.stderr).toMatch(/^one is valid/);
  expect(existsSync(mark)).toBe(true);
});

describe.skipIf(!isRoot)("another user's folder above the working directory", () => {
  test.each([
    ['status', ['status', '--inventory', 'one']],
    ['render', ['render', '--inventory', 'one', '--out', 'out']],
    ['deploy', ['deploy', '--inventory', 'one', '--check']],
    ['a list of commands', ['--help']],
  ])('is refused by %s before anything of it is read', (_, words) => {
    const shared = sticky();
    project(shared);
    mkdirSync(join(shared, 'templates/current'), { recursive: true });
    cpSync(join(root, 'templates/current'), join(shared, 'templates/current'), { recursive: true });
    for (const name of ['rpc-playbooks.yaml', 'inventory', 'templates']) {
      const path = join(shared, name);
      if (name === 'rpc-playbooks.yaml') chownSync(path, mallory, mallory);
      else give(path, mallory);
    }
    const work = join(shared, 'work');
    mkdirSync(work);
    const run = program(work, words);
    expect(run.status).toBe(3);
    expect(run.stderr).toContain(`${shared}/rpc-playbooks.yaml belongs to uid 1235 (mode 0644): `);
    expect(run.stderr).toContain(`${shared}/inventory belongs to uid 1235 (mode 0755): `);
    expect(run.stderr).toMatch(/\n {2}use a copy in a folder that only you can change\n$/);
    expect(existsSync(mark)).toBe(false);
    expect(readdirSync(work)).toEqual([]);
  });
});

const put = (name: string, text = '', uid = 0, mode = 0o644): string =>
  putFile(join(fleet, name), { text, uid, mode });

/** What another user could do to a folder of ours, and what is said. */
type Spoiled = readonly [what: string, spoil: () => void, said: () => string];
const others = 'what others can write is not used';

describe.skipIf(!isRoot)('a folder of ours is refused as a whole', () => {
  const foreign = (name: string, mode = '0644') =>
    `${fleet}/${name} belongs to uid 1235 (mode ${mode}): ${others}\n`;
  const elsewhere = (name: string, content = '') => {
    const path = join(existsSync(join(top, 'shared')) ? join(top, 'shared') : sticky(), name);
    writeFileSync(path, content);
    chownSync(path, mallory, mallory);
    return path;
  };
  const linkTo = (target: string, name: string, uid = 0) => {
    rmSync(join(fleet, name), { recursive: true, force: true });
    symlinkSync(target, join(fleet, name));
    lchownSync(join(fleet, name), uid, uid);
  };

  test.each<Spoiled>([
    [
      'marker',
      () => chownSync(join(fleet, 'rpc-playbooks.yaml'), mallory, mallory),
      () => foreign('rpc-playbooks.yaml'),
    ],
    ['inventory', () => chownSync(inventory, mallory, mallory), () => foreign('inventory/one.yaml')],
    [
      'folder of inventories',
      () => chownSync(join(fleet, 'inventory'), mallory, mallory),
      () => foreign('inventory', '0755'),
    ],
    [
      'inventory for all',
      () => chmodSync(inventory, 0o666),
      () => `${inventory} can be changed by every user (mode 0666): ${others}\n`,
    ],
    [
      'sticky folder of inventories',
      () => chmodSync(join(fleet, 'inventory'), 0o1777),
      () => `${fleet}/inventory can be changed by every user (mode 1777): ${others}\n`,
    ],
    [
      'template of a group',
      () => put('templates/current/node.config.toml', '', 0, 0o664),
      () =>
        `${fleet}/templates/current/node.config.toml can be changed by the group root (mode 0664): ${others}\n`,
    ],
    ['template', () => put('templates/older/x.yml', '', mallory), () => foreign('templates/older/x.yml')],
    [
      'file of variables',
      () => put('inventory/more.yaml', '', mallory),
      () => foreign('inventory/more.yaml'),
    ],
    [
      'file of secrets',
      () => put('inventory/one.secrets.age', '', mallory),
      () => foreign('inventory/one.secrets.age'),
    ],
    [
      'recipients',
      () => put('inventory/one.secrets.recipients', '', mallory),
      () => foreign('inventory/one.secrets.recipients'),
    ],
    ['role', () => put('roles/own.ts', '', mallory), () => foreign('roles/own.ts')],
    [
      'module of a role',
      () => put('roles/tools/tools.ts', '', mallory),
      () => foreign('roles/tools/tools.ts'),
    ],
    ['playbook', () => put('playbooks/own.mjs', '', mallory), () => foreign('playbooks/own.mjs')],
    [
      'package of a role',
      () => {
        put('roles/own.ts', "export { default } from 'a';\n");
        put('node_modules/a/index.js');
        chownSync(join(fleet, 'node_modules/a'), mallory, mallory);
      },
      () => foreign('node_modules/a', '0755'),
    ],
    [
      'package of a role, above the folder',
      () => {
        put('roles/own.ts', "export { default } from 'a';\n");
        mkdirSync(join(top, 'node_modules/a'), { recursive: true });
        give(join(top, 'node_modules'), mallory);
      },
      () => `${top}/node_modules belongs to uid 1235 (mode 0755): ${others}\n`,
    ],
    [
      'file of a package of a role',
      () => {
        put('roles/own.ts', "export { default } from 'a';\n");
        put('node_modules/a/index.js', 'export default 1;\n', mallory);
      },
      () => foreign('node_modules/a/index.js'),
    ],
    ['file of package.json', () => put('package.json', '{}', mallory), () => foreign('package.json')],
    [
      'folder of records',
      () => {
        mkdirSync(join(fleet, '.runs'));
        chownSync(join(fleet, '.runs'), mallory, mallory);
      },
      () => foreign('.runs', '0755'),
    ],
    [
      'link as an inventory',
      () => linkTo(elsewhere('x.yaml', text()), 'inventory/one.yaml'),
      () => `${top}/shared/x.yaml belongs to uid 1235 (mode 0644): ${others}\n`,
    ],
    [
      'folder that a link leads to',
      () => {
        mkdirSync(join(top, 'theirs/current'), { recursive: true });
        give(join(top, 'theirs'), mallory);
        linkTo('../theirs', 'templates');
      },
      () => `${top}/theirs belongs to uid 1235 (mode 0755): ${others}\n`,
    ],
    [
      'file in a folder that a link leads to',
      () => {
        mkdirSync(join(top, 'real'));
        writeFileSync(join(top, 'real/x.ts'), '');
        chownSync(join(top, 'real/x.ts'), mallory, mallory);
        linkTo('../real', 'roles');
      },
      () => `${top}/real/x.ts belongs to uid 1235 (mode 0644): ${others}\n`,
    ],
    [
      'link',
      () => {
        renameSync(join(fleet, 'inventory'), join(top, 'real'));
        linkTo('../real', 'inventory', mallory);
      },
      () => `${fleet}/inventory is a link of uid 1235: ${others}\n`,
    ],
    [
      'folder on the way',
      () => chmodSync(top, 0o777),
      () => `${top} can be changed by every user (mode 0777): ${others}\n`,
    ],
    [
      'owner of a folder on the way',
      () => chownSync(top, mallory, mallory),
      () => `${top} belongs to uid 1235 (mode 0755): ${others}\n`,
    ],
  ])('another user could change: %s', (_, spoil, said) => {
    spoil();
    const run = program(fleet, validate);
    chmodSync(top, 0o755);
    chownSync(top, 0, 0);
    expect(run.stderr).toContain(said());
    expect(run).toMatchObject({ status: 3, stdout: '' });
    expect(existsSync(mark)).toBe(false);
  });

  test('all that is wrong is said at once, and its remedy works', () => {
    chmodSync(inventory, 0o666);
    put('templates/current/x.yml', '', 0, 0o666);
    const run = program(fleet, validate);
    expect(run.stderr).toBe(
      `${fleet}/inventory/one.yaml can be changed by every user (mode 0666): ${others}
${fleet}/templates/current/x.yml can be changed by every user (mode 0666): ${others}
  chmod -R go-w ${fleet}; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${fleet}\n`,
    );
    spawnSync('sh', ['-c', /chmod [^;]*/.exec(run.stderr)?.[0] ?? '']);
    expect(program(fleet, validate).status).toBe(0);
  });

  test.each<readonly [what: string, key: string, name: string]>([
    ['known_hosts', 'ssh: { known_hosts: NAME, port: 9 }', 'known_hosts'],
    ['identity_file', 'ssh: { identity_file: NAME, port: 9 }', 'identity_file'],
    ['vars_files', 'vars_files: [NAME]', 'vars_files'],
    ['a manifest', 'manifest', 'snapshot.manifest'],
  ])('another user could have written a file that the inventory names elsewhere: %s', (_, key) => {
    const file = elsewhere('named', '{}');
    const named =
      key === 'manifest'
        ? text().replace(
            / {4}date: [\s\S]*? {4}restore_with/,
            `    manifest: ${file}\n    from: http://127.0.0.1:9/\n    restore_with`,
          )
        : '';
    const line = key.replace('NAME', file);
    writeFileSync(inventory, named || text().replace(/^ssh: .*\n/m, `${line}\n`));
    const run = program(fleet, ['status', '--inventory', 'one']);
    expect(run.stderr).toContain(`${file} belongs to uid 1235 (mode 0644): ${others}\n`);
    expect(run.status).toBe(3);
  });

  test('a role that imports from a package of another user is not compiled', () => {
    put('roles/own.ts', "import a from 'a';\nexport default a;\n");
    put('node_modules/a/package.json', '{ "main": "lib/index.js" }');
    put('node_modules/a/lib/index.js', 'module.exports = 1;\n', 0, 0o666);
    const run = program(fleet, validate);
    expect(run.stderr).toContain(
      `${fleet}/node_modules/a/lib/index.js can be changed by every user (mode 0666): ${others}\n`,
    );
    expect(run.status).toBe(3);
  });

  test('records are not written through a link, which a repository may hold, and no host is asked before', () => {
    const target = join(top, 'target');
    mkdirSync(target);
    linkTo('../target', '.runs');
    for (const words of [['deploy', '--check'], ['status'], ['history'], ['report']]) {
      const run = program(fleet, [...words, '--inventory', 'one']);
      expect(run).toMatchObject({
        status: 3,
        stderr: `${fleet}/.runs is a link, and records of runs are written only into a folder\n  put a folder in its place, or mount one there\n`,
      });
    }
    expect(readdirSync(target)).toEqual([]);
    rmSync(join(fleet, '.runs'));
    expect(program(fleet, ['deploy', '--check', '--inventory', 'one']).status).toBe(4);
    expect(readdirSync(join(fleet, '.runs'))).toHaveLength(1);
  });

  test.each<readonly [what: string, words: () => string[], said: () => string]>([
    [
      'an inventory',
      () => ['validate', '-i', elsewhere('x.yaml', text())],
      () => `${top}/shared/x.yaml belongs to uid 1235 (mode 0644): ${others}\n`,
    ],
    [
      'a plan',
      () => ['deploy', '--plan', elsewhere('plan.json', '{}')],
      () => `the plan "${top}/shared/plan.json" belongs to uid 1235 (mode 0644): ${others}\n`,
    ],
    [
      'a record',
      () => ['report', elsewhere('x.ndjson')],
      () => `${top}/shared/x.ndjson belongs to uid 1235 (mode 0644): ${others}\n`,
    ],
    [
      'an output through a link',
      () => {
        symlinkSync(inventory, join(sticky(), 'plan.json'));
        lchownSync(join(top, 'shared/plan.json'), mallory, mallory);
        return ['deploy', '-i', 'one', '--check', '--out', join(top, 'shared/plan.json')];
      },
      () =>
        `cannot write ${top}/shared/plan.json: ${top}/shared/plan.json is a link of uid 1235: ${others}\n`,
    ],
    [
      'a folder to render to',
      () => {
        mkdirSync(join(top, 'theirs'));
        give(join(top, 'theirs'), mallory);
        return ['render', '-i', 'one', '--out', join(top, 'theirs')];
      },
      () => `cannot write ${top}/theirs: ${top}/theirs belongs to uid 1235 (mode 0755): ${others}\n`,
    ],
  ])('another user could change what an option names: %s', (_, words, said) => {
    const before = readFileSync(inventory, 'utf8');
    const run = program(fleet, words());
    expect(run.stderr).toContain(said());
    expect(readFileSync(inventory, 'utf8')).toBe(before);
    expect(run.status).toBe(3);
  });

  test('a folder of --out is refused as a whole, and before a command of the inventory runs', () => {
    const out = join(top, 'theirs/out');
    mkdirSync(out, { recursive: true });
    give(join(top, 'theirs'), mallory);
    const words = ['render', '-i', 'one', '--out', out];
    const run = program(fleet, words);
    expect(run.stderr).toMatch(trusting(out));
    expect(run).toMatchObject({ status: 3, stdout: '' });
    expect(existsSync(mark)).toBe(false);
    give(join(top, 'theirs'), 0);
    mkdirSync(join(out, 'db-1'));
    give(join(out, 'db-1'), mallory);
    const within = program(fleet, words);
    expect(within.stderr).toContain(
      `cannot write ${out}/db-1: ${out}/db-1 belongs to uid 1235 (mode 0755): ${others}\n`,
    );
    expect(within.stderr).toMatch(trusting(out));
    expect(within).toMatchObject({ status: 3, stdout: '' });
    expect(readdirSync(out)).toEqual(['db-1']);
  });

  test('init makes no project where others could change it', () => {
    const theirs = join(top, 'theirs');
    mkdirSync(theirs);
    chownSync(theirs, mallory, mallory);
    const run = program(top, ['init', join(theirs, 'new'), '--network', 'test']);
    expect(run.stderr).toContain(
      `${theirs}/new leads through ${theirs}, which belongs to uid 1235 (mode 0755): ${others}\n`,
    );
    expect(run.status).toBe(3);
    expect(readdirSync(theirs)).toEqual([]);
  });

  test('a command of an inventory does not run where others can make its files', () => {
    const shared = sticky();
    const own = join(shared, 'own.yaml');
    writeFileSync(own, text('cmd:./password'));
    writeFileSync(join(shared, 'password'), `#!/bin/sh\ntouch ${mark}; echo Passw0rd-of-a-test\n`, {
      mode: 0o755,
    });
    chownSync(join(shared, 'password'), mallory, mallory);
    const run = program(top, ['validate', '--inventory', own]);
    expect(run.stderr).toContain(
      `the command ./password runs in shared, which can be changed by every user (mode 1777): ${others}\n  use a copy in a folder that only you can change\n`,
    );
    expect(run.status).toBe(3);
    expect(existsSync(mark)).toBe(false);
  });

  test('completion of a command line reads nothing of another user', () => {
    const hosts = (file: string) =>
      spawnSync(process.execPath, [join(root, 'playbooks/completions.mjs'), 'hosts', '/nowhere', file], {
        encoding: 'utf8',
      });
    expect(hosts(inventory).stdout).toContain('db-1');
    chownSync(inventory, mallory, mallory);
    expect(hosts(inventory).stdout).not.toContain('db-1');
  });
});

describe.skipIf(!isRoot)("what a team's own playbook imports", () => {
  /** Code that leaves the mark, and a playbook with it. */
  const marks = () => `require('node:fs').writeFileSync(${JSON.stringify(mark)}, '');`;
  const marksAsModule = () =>
    `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(mark)}, '');`;
  const tiny = (...lines: string[]) =>
    put('playbooks/tiny.mjs', `${lines.join('\n')}\nconsole.log('end');\n`);

  test.each<readonly [what: string, make: (uid: number) => string]>([
    [
      'a part of a package',
      (uid) => {
        put('node_modules/ok/package.json', '{ "main": "lib/i.js" }');
        tiny("import 'ok';");
        return put('node_modules/ok/lib/i.js', marks(), uid);
      },
    ],
    [
      'a part that a package requires',
      (uid) => {
        put('node_modules/ok/index.js', "require('./lib/i');");
        tiny("import 'ok';");
        return put('node_modules/ok/lib/i.js', marks(), uid);
      },
    ],
    [
      'a part of a package of modules',
      (uid) => {
        put('node_modules/ok/package.json', '{ "type": "module", "exports": "./index.js" }');
        put('node_modules/ok/index.js', "import './lib/i.js';");
        tiny("import 'ok';");
        return put('node_modules/ok/lib/i.js', marksAsModule(), uid);
      },
    ],
    [
      'a package in a scope',
      (uid) => {
        tiny("import '@s/p';");
        return put('node_modules/@s/p/index.js', marks(), uid);
      },
    ],
    [
      'the package.json of a package',
      (uid) => {
        put('node_modules/ok/lib/i.js', marks());
        tiny("import 'ok';");
        return put('node_modules/ok/package.json', '{ "main": "lib/i.js" }', uid);
      },
    ],
    [
      'a file elsewhere in the folder',
      (uid) => {
        tiny("import '../helpers/h.mjs';");
        return put('helpers/h.mjs', marksAsModule(), uid);
      },
    ],
    [
      'a file with a name that is known late',
      (uid) => {
        tiny("const name = ['..', 'helpers', 'h.mjs'].join('/');", 'await import(name);');
        return put('helpers/h.mjs', marksAsModule(), uid);
      },
    ],
    [
      'a file that is required',
      (uid) => {
        tiny(
          "import { createRequire } from 'node:module';",
          "createRequire(import.meta.url)('../helpers/h.cjs');",
        );
        return put('helpers/h.cjs', marks(), uid);
      },
    ],
    [
      'data that are required',
      (uid) => {
        const data = put('helpers/h.json', '{}', uid);
        tiny(
          "import { createRequire } from 'node:module';",
          "createRequire(import.meta.url)('../helpers/h.json');",
          marksAsModule(),
        );
        return data;
      },
    ],
  ])('is loaded only where nobody else could have written it: %s', (_, make) => {
    make(0);
    const own = program(fleet, ['tiny']);
    expect(own, own.stderr).toMatchObject({ status: 0, stdout: 'end\n' });
    expect(existsSync(mark)).toBe(true);
    rmSync(mark);
    const path = make(mallory);
    for (const words of [['tiny'], ['tiny', '--help'], ['tiny', '--list-hosts', '-i', 'one']]) {
      const run = program(fleet, words);
      expect(run.stderr).toContain(
        `${path} belongs to uid 1235 (mode 0644): ${others}\n  look at what is there, then chown`,
      );
      expect(run.stderr).not.toMatch(/^ +at /m);
      expect(run).toMatchObject({ status: 3, stdout: '' });
    }
    expect(existsSync(mark)).toBe(false);
    const trusting = program(fleet, ['tiny'], { env: { RPC_PLAYBOOKS_TRUST: fleet } });
    expect(trusting, trusting.stderr).toMatchObject({ status: 0, stdout: 'end\n' });
  });

  test.each([
    ['helpers', '../helpers/index.js'],
    ['node_modules/@s/p', '@s/p'],
    ['node_modules/@s/p', '@s/p/index.js'],
  ])('is not loaded through a link of another user: %s, by %s', (link, specifier) => {
    put('real/index.js', marks());
    mkdirSync(join(fleet, link, '..'), { recursive: true });
    symlinkSync(join(fleet, 'real'), join(fleet, link));
    tiny(`import '${specifier}';`);
    expect(program(fleet, ['tiny']).stdout).toBe('end\n');
    rmSync(mark);
    lchownSync(join(fleet, link), mallory, mallory);
    const run = program(fleet, ['tiny']);
    expect(run.stderr).toContain(`${fleet}/${link} is a link of uid 1235: ${others}\n`);
    expect(run).toMatchObject({ status: 3, stdout: '' });
    expect(existsSync(mark)).toBe(false);
  });
});

describe.skipIf(!isRoot)('root in the folder of a user', () => {
  beforeEach(() => give(fleet, alice));

  test('is refused, with what to do', () => {
    const run = program(fleet, validate);
    expect(run.stderr).toBe(
      `${fleet} belongs to uid 1234 (mode 0755): ${others}
${fleet}/rpc-playbooks.yaml belongs to uid 1234 (mode 0644): ${others}
  use a copy in a folder that only you can change; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${fleet}\n`,
    );
    expect(run).toMatchObject({ status: 3, stdout: '' });
    expect(existsSync(mark)).toBe(false);
    expect(program(top, [...validate, '-C', fleet]).stderr).toBe(run.stderr);
  });

  test("is not advised to take a user's home", () => {
    const home = join(top, 'bob');
    mkdirSync(home);
    writeFileSync(join(home, 'i.yaml'), text());
    give(home, alice);
    const run = program('/', ['validate', '-i', join(home, 'i.yaml')]);
    expect(run.stderr).toContain(
      'use a copy in a folder that only you can change; or trust the folder and all in it: ',
    );
    expect(run.stderr).not.toMatch(/chown|chmod/);
    expect(run).toMatchObject({ status: 3, stdout: '' });
  });

  test('works by sudo of that user, whose records they are', () => {
    const run = program(fleet, validate, { env: { SUDO_UID: String(alice) } });
    expect(run.status, run.stderr).toBe(0);
    expect(program(fleet, validate, { env: { SUDO_UID: String(mallory) } }).status).toBe(3);
  });

  test('works where the folder is trusted, and nothing else is', () => {
    const trusted = { env: { RPC_PLAYBOOKS_TRUST: fleet } };
    const run = program(fleet, validate, trusted);
    expect(run.status, run.stderr).toBe(0);
    const other = project(join(top, 'other'));
    give(other, alice);
    expect(program(other, validate, trusted).status).toBe(3);
    appendFileSync(join(fleet, 'rpc-playbooks.yaml'), 'trust: true\n');
    expect(program(fleet, validate).status).toBe(3);
  });
});

describe.skipIf(!othersMayRun)('a user', () => {
  test('uses a folder of root', () => {
    const run = program(fleet, validate, { uid: alice });
    expect(run.stdout, run.stderr).toMatch(/^one is valid/);
  });

  test('uses an own folder, also with the umask of a private group', () => {
    give(fleet, alice);
    for (const name of ['.', 'inventory', 'inventory/one.yaml'])
      chmodSync(join(fleet, name), name.endsWith('yaml') ? 0o664 : 0o775);
    const run = program(fleet, validate, { uid: alice });
    expect(run.stdout, run.stderr).toMatch(/^one is valid/);
  });

  test('does not use the folder of another user', () => {
    give(fleet, mallory);
    const run = program(fleet, validate, { uid: alice });
    expect(run.stderr).toContain(
      `\n  use a copy in a folder that only you can change; or trust the folder and all in it: `,
    );
    expect(run.status).toBe(3);
    expect(existsSync(mark)).toBe(false);
  });
});

describe.skipIf(!isRoot)('a clone, without a project folder of its own', () => {
  let clone: string;
  beforeEach(() => {
    clone = join(top, 'clone');
    mkdirSync(clone);
    for (const name of ['lib', 'roles', 'playbooks', 'templates', 'inventory', 'package.json'])
      cpSync(join(root, name), join(clone, name), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
    writeFileSync(join(clone, 'inventory/one.yaml'), text());
  });
  const run = (as: As = {}) => {
    const { SUDO_UID: _, RPC_PLAYBOOKS_TRUST: __, ...rest } = process.env;
    const own = as.uid === undefined ? {} : { uid: as.uid, gid: as.uid };
    const words = ['node_modules/zx/build/cli.js', 'playbooks/validate.mjs', '--inventory', 'one'];
    const env = { ...rest, HOME: '/nowhere', TMPDIR: tmpdir(), ...as.env };
    return spawnSync(process.execPath, words, { cwd: clone, env, encoding: 'utf8', ...own });
  };

  test("is used by root where it is root's, and refused where it is a user's or has a template that others can change", () => {
    const own = run();
    expect(own.stdout, own.stderr).toMatch(/^one is valid/);
    rmSync(mark);
    chmodSync(join(clone, 'templates/current/node.config.toml'), 0o666);
    const open = run();
    expect(open.stderr).toContain(
      `${clone}/templates/current/node.config.toml can be changed by every user (mode 0666): ${others}\n`,
    );
    expect(open.status).toBe(3);
    chmodSync(join(clone, 'templates/current/node.config.toml'), 0o644);
    rmSync(mark, { force: true });
    give(clone, alice);
    const users = run();
    expect(users.stderr).toContain(
      `leads through ${clone}, which belongs to uid 1234 (mode 0755): ${others}\n`,
    );
    expect(users.stderr).toMatch(trusting(clone));
    expect(users).toMatchObject({ status: 3, stdout: '' });
    expect(existsSync(mark)).toBe(false);
    const sudo = run({ env: { SUDO_UID: String(alice) } });
    expect(sudo.stdout, sudo.stderr).toMatch(/^one is valid/);
  });

  test.skipIf(!othersMayRun)('is used by its own user', () => {
    give(clone, alice);
    const own = run({ uid: alice });
    expect(own.stdout, own.stderr).toMatch(/^one is valid/);
  });
});
