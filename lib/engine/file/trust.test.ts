import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  lchownSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { temporaryDirectory } from '../host/testing/local-connection.ts';
import { readBounded } from './bounded-file.ts';
import { writePrivateFile } from './private-output.ts';
import { asUser, giveAccessList, putFile } from './testing/other-users.ts';
import { distrust, type Fault, refusal } from './trust.mjs';

const isRoot = process.getuid?.() === 0;
/** A user who is not in /etc/passwd, and another one. */
const [alice, mallory] = [1234, 1235] as const;
/** A user with a private group, as Debian makes them. */
const hasPrivate = /^www-data:[^:]*:33:33:/m.test(readFileSync('/etc/passwd', 'utf8'));
const hasPython = spawnSync('python3', ['--version']).status === 0;

let top: string;
beforeEach(() => {
  vi.stubEnv('SUDO_UID', undefined);
  vi.stubEnv('RPC_PLAYBOOKS_TRUST', undefined);
  top = temporaryDirectory();
  chmodSync(top, 0o755);
  onTestFinished(() => void vi.unstubAllEnvs());
});

const put = (path: string, mode = 0o644, [uid, gid] = [0, 0], text = 'text'): string =>
  putFile(join(top, path), { text, mode, uid, gid });

function folder(path: string, mode = 0o755, uid = 0): string {
  const made = join(top, path);
  mkdirSync(made, { recursive: true });
  chownSync(made, uid, uid);
  chmodSync(made, mode);
  return made;
}

function link(path: string, target: string, uid = 0): string {
  const made = join(top, path);
  symlinkSync(target, made);
  lchownSync(made, uid, uid);
  return made;
}

/** What was made last. */
const last = (...made: readonly string[]) => made.at(-1) ?? '';

const said = (faults: readonly Fault[]) => faults.map(({ path, what }) => `${path.replace(top, '')} ${what}`);

/** Cases: what is there, whose eyes look, and what they find. */
type Case = [what: string, make: () => string, found: readonly string[], uid?: number, gid?: number];

describe.skipIf(!isRoot)('the rule', () => {
  test.each<Case>([
    ['a file of root', () => put('f'), []],
    ['a file of root, for a user', () => put('f'), [], alice],
    ["a user's own file", () => put('f', 0o600, [alice, alice]), [], alice],
    [
      "a user's file, for root",
      () => put('f', 0o600, [alice, alice]),
      ['/f belongs to uid 1234 (mode 0600)'],
    ],
    [
      "a user's file, for another",
      () => put('f', 0o644, [alice, alice]),
      ['/f belongs to uid 1234 (mode 0644)'],
      mallory,
    ],
    ['a user with a name', () => put('f', 0o644, [1, 1]), ['/f belongs to daemon (uid 1, mode 0644)']],
    ['for all to write', () => put('f', 0o646), ['/f can be changed by every user (mode 0646)']],
    [
      'for a group to write',
      () => put('f', 0o664, [0, 1]),
      ['/f can be changed by the group daemon (mode 0664)'],
    ],
    ["for root's group to write", () => put('f', 0o664), ['/f can be changed by the group root (mode 0664)']],
    [
      'own, for a group without a name to write',
      () => put('f', 0o664, [alice, 4321]),
      ['/f can be changed by the group 4321 (mode 0664)'],
      alice,
    ],
    ['own, in a container without names', () => put('f', 0o664, [alice, alice]), [], alice],
    [
      'own, in a container without names, of a group of others',
      () => put('f', 0o664, [alice, alice]),
      ['/f can be changed by the group 1234 (mode 0664)'],
      alice,
      4321,
    ],
    [
      'a folder of another on the way',
      () => last(put('a/b/f'), folder('a', 0o755, alice), join(top, 'a/b/f')),
      ['/a belongs to uid 1234 (mode 0755)'],
    ],
    [
      'a folder for all on the way',
      () => last(put('a/b/f'), folder('a', 0o777), join(top, 'a/b/f')),
      ['/a can be changed by every user (mode 0777)'],
    ],
    ['a sticky folder on the way', () => last(put('a/b/f'), folder('a', 0o1777), join(top, 'a/b/f')), []],
    [
      'a sticky folder of another',
      () => last(put('a/f'), folder('a', 0o1777, alice), join(top, 'a/f')),
      ['/a belongs to uid 1234 (mode 1777)'],
    ],
    [
      'of another, in a sticky folder',
      () => last(put('a/f', 0o644, [alice, alice]), folder('a', 0o1777), join(top, 'a/f')),
      ['/a/f belongs to uid 1234 (mode 0644)'],
    ],
    ['a link', () => last(put('a/f'), link('l', 'a/f')), []],
    [
      'a link of another',
      () => last(put('a/f'), folder('s', 0o1777), link('s/l', '../a/f', alice)),
      ['/s/l is a link of uid 1234'],
    ],
    [
      'an absolute link to a file of another',
      () => link('l', put('a/f', 0o644, [alice, alice])),
      ['/a/f belongs to uid 1234 (mode 0644)'],
    ],
    [
      'a link as a folder of another',
      () => last(put('a/f'), folder('s', 0o1777), link('s/l', '../a', alice), join(top, 's/l/f')),
      ['/s/l is a link of uid 1234'],
    ],
    [
      'a link to a link of another',
      () => last(put('a/f'), folder('s', 0o1777), link('s/l', '../a/f', alice), link('k', 's/l')),
      ['/s/l is a link of uid 1234'],
    ],
    [
      'a link through a folder for all',
      () => last(put('a/b/f'), folder('a', 0o777), link('l', 'a/b/f')),
      ['/a can be changed by every user (mode 0777)'],
    ],
    [
      'a way up and down again',
      () => last(put('f'), folder('a', 0o755, alice), `${top}/a/../f`),
      ['/a belongs to uid 1234 (mode 0755)'],
    ],
    [
      'nothing, in a folder of another',
      () => join(folder('a', 0o755, alice), 'f'),
      ['/a belongs to uid 1234 (mode 0755)'],
    ],
    ['nothing, in a sticky folder', () => join(folder('a', 0o1777), 'f'), []],
    ['below a file', () => join(put('f'), 'g'), []],
    ['a device that all may write to', () => '/dev/null', []],
  ])('%s', (_, make, found, uid = 0, gid = uid) => {
    const path = make();
    expect(said(asUser(uid, () => distrust(path), gid))).toEqual(found);
  });

  test.skipIf(!hasPrivate)('a private group is no other user, for its user alone', () => {
    const file = put('f', 0o664, [33, 33]);
    expect(asUser(33, () => distrust(file))).toEqual([]);
    expect(said(distrust(file))).toEqual(['/f belongs to www-data (uid 33, mode 0664)']);
    vi.stubEnv('SUDO_UID', '33');
    expect(distrust(file)).toEqual([]);
    expect(said(distrust(put('g', 0o664, [0, 34])))).toEqual([
      '/g can be changed by the group backup (mode 0664)',
    ]);
  });

  test.skipIf(!hasPython)('an access list lets others in, also in a private group', () => {
    const file = put('f', 0o664, [alice, alice]);
    const other = put('g', 0o664, [alice, alice]);
    giveAccessList(file, 'access', mallory, 0o664);
    expect(said(asUser(alice, () => distrust(file)))).toEqual([
      '/f can be changed by the users of its access list (mode 0664)',
    ]);
    expect(asUser(alice, () => distrust(other))).toEqual([]);
  });

  test('what others may add to a folder counts where names are looked up in it', () => {
    const sticky = folder('s', 0o1777);
    expect(distrust(sticky)).toEqual([]);
    expect(said(distrust(sticky, true))).toEqual(['/s can be changed by every user (mode 1777)']);
    expect(distrust(put('s/f'), true)).toEqual([]);
  });

  test('a file is not read where its name leads to another one', () => {
    // The file behind an open descriptor has no name any more.
    const file = put('f');
    const descriptor = openSync(file, 'r');
    onTestFinished(() => closeSync(descriptor));
    expect(readBounded(`/proc/self/fd/${descriptor}`, 100).toString()).toBe('text');
    rmSync(file);
    expect(() => readBounded(`/proc/self/fd/${descriptor}`, 100)).toThrow(
      'was replaced while it was opened: what others can write is not used',
    );
    put('f (deleted)');
    expect(() => readBounded(`/proc/self/fd/${descriptor}`, 100)).toThrow('was replaced while it was opened');
  });

  test('a pipe of the shell is refused as one', () => {
    const script = `import('${import.meta.dirname}/trust.mjs').then(({ openTrusted }) => console.log(Object.keys(openTrusted('/dev/stdin'))))`;
    const run = spawnSync('sh', ['-c', 'echo text | "$0" -e "$1"', process.execPath, script], {
      encoding: 'utf8',
    });
    expect(run.stdout).toBe("[ 'file' ]\n");
  });

  test('links that lead in a circle are an error of the file system', () => {
    link('a', 'b');
    link('b', 'a');
    expect(() => distrust(join(top, 'a'))).toThrow('is a loop of links');
  });

  test('sudo in a folder of its own user is that user, and only for root', () => {
    const file = put('f', 0o644, [alice, alice]);
    vi.stubEnv('SUDO_UID', String(alice));
    expect(distrust(file)).toEqual([]);
    expect(said(asUser(mallory, () => distrust(file)))).toHaveLength(1);
    expect(said(distrust(put('g', 0o644, [mallory, mallory])))).toEqual([
      '/g belongs to uid 1235 (mode 0644)',
    ]);
    vi.stubEnv('SUDO_UID', '1234 1235');
    expect(said(distrust(file))).toHaveLength(1);
  });
});

describe.skipIf(!isRoot)('a trusted folder', () => {
  const trust = (...folders: readonly string[]) => vi.stubEnv('RPC_PLAYBOOKS_TRUST', folders.join(':'));

  test('is used as it is, with all in it and the way to it', () => {
    const file = put('home/fleet/inventory/f', 0o666, [alice, alice]);
    folder('home', 0o777, mallory);
    const neighbour = put('home/f', 0o644, [alice, alice]);
    expect(distrust(file)).toHaveLength(2);
    trust(join(top, 'home/fleet'));
    expect(distrust(file)).toEqual([]);
    expect(distrust(dirname(dirname(file)), true)).toEqual([]);
    expect(distrust(neighbour)).toHaveLength(2);
    trust('/nowhere', join(top, 'home/fleet/'), '');
    expect(distrust(file)).toEqual([]);
    trust(join(top, 'home/fle'));
    expect(distrust(file)).toHaveLength(2);
  });

  test('may be named by a link', () => {
    const file = put('real/f', 0o666);
    trust(link('named', 'real'));
    expect(distrust(file)).toEqual([]);
  });

  test('does not vouch for a link that others could turn to it', () => {
    const file = put('fleet/f', 0o666);
    folder('s', 0o1777);
    const way = link('s/l', '../fleet/f', mallory);
    trust(join(top, 'fleet'));
    expect(distrust(file)).toEqual([]);
    expect(said(distrust(way))).toEqual(['/s/l is a link of uid 1235']);
    folder('open', 0o777);
    put('open/fleet/f', 0o666);
    trust(join(top, 'open/fleet'));
    const inOpen = link('open/l', 'fleet/f');
    expect(said(distrust(inOpen))).toEqual(['/open can be changed by every user (mode 0777)']);
  });

  test('does not vouch for what its links lead to', () => {
    put('a/f', 0o644, [mallory, mallory]);
    folder('fleet', 0o755, alice);
    const way = link('fleet/l', '../a/f', alice);
    trust(join(top, 'fleet'));
    expect(said(distrust(way))).toEqual(['/a/f belongs to uid 1235 (mode 0644)']);
  });

  test.each([
    ['*', 'is not an absolute path'],
    ['fleet', 'is not an absolute path'],
    ['/', 'is all of the file system'],
    ['/..', 'is all of the file system'],
    ['/tmp', 'is a folder in which others make files'],
  ])('%s cannot be one', (name, why) => {
    const file = put('f', 0o644, [alice, alice]);
    trust(name);
    const faults = distrust(file);
    expect(faults).toHaveLength(1);
    expect(refusal(faults, top).hint).toContain(`\n  RPC_PLAYBOOKS_TRUST: ${name} ${why}, and is left out`);
  });
});

describe.skipIf(!isRoot)('what to do', () => {
  const trusting = () => `or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${top}`;

  test.each<[what: string, make: () => string[], hint: () => string, uid?: number]>([
    ['one mode', () => [put('f', 0o666)], () => `chmod go-w ${top}/f; ${trusting()}`],
    [
      'several modes',
      () => [put('f', 0o666), put("g'h", 0o666)],
      () => `chmod -R go-w ${top}; ${trusting()}`,
    ],
    [
      'an owner, for root',
      () => [put('f', 0o644, [alice, alice])],
      () => `look at what is there, then chown -h root ${top}/f; ${trusting()}`,
    ],
    [
      'an owner and a mode, for root',
      () => [put('f', 0o644, [alice, alice]), put('a b', 0o666)],
      () => `look at what is there, then chown -h root ${top}/f; chmod go-w '${top}/a b'; ${trusting()}`,
    ],
    [
      'an owner, for a user',
      () => [put('f', 0o644, [alice, alice])],
      () => `use a copy in a folder that only you can change; ${trusting()}`,
      mallory,
    ],
  ])('%s', (_, make, hint, uid = 0) => {
    put('rpc-playbooks.yaml');
    const paths = make();
    expect(
      asUser(uid, () =>
        refusal(
          paths.flatMap((path) => distrust(path)),
          top,
        ),
      ).hint,
    ).toBe(hint());
  });

  test.each<[what: string, make: () => string, hint: () => string]>([
    [
      "a file in a user's home",
      () =>
        last(put('bob/i.yaml', 0o644, [alice, alice]), folder('bob', 0o755, alice), join(top, 'bob/i.yaml')),
      () =>
        `use a copy in a folder that only you can change; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${top}/bob`,
    ],
    [
      "a user's file in a folder of root that is no checkout",
      () => put('srv/i.yaml', 0o644, [alice, alice]),
      () =>
        `use a copy in a folder that only you can change; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${top}/srv`,
    ],
    [
      'a folder and its file that others can change, and that are no checkout',
      () => last(put('srv/i.yaml', 0o666), folder('srv', 0o777), join(top, 'srv/i.yaml')),
      () =>
        `chmod go-w ${top}/srv ${top}/srv/i.yaml; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${top}/srv`,
    ],
    [
      "a user's project folder",
      () =>
        last(
          put('fleet/rpc-playbooks.yaml', 0o644, [alice, alice]),
          put('fleet/inventory/x/i.yaml', 0o644, [alice, alice]),
          folder('fleet', 0o755, alice),
          join(top, 'fleet/inventory/x/i.yaml'),
        ),
      () =>
        `use a copy in a folder that only you can change; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${top}/fleet`,
    ],
    [
      "a user's git checkout",
      () =>
        last(
          folder('ci/.git', 0o755, alice),
          put('ci/deployment/inventory/i.yaml', 0o644, [alice, alice]),
          folder('ci', 0o755, alice),
          join(top, 'ci/deployment/inventory/i.yaml'),
        ),
      () =>
        `use a copy in a folder that only you can change; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${top}/ci`,
    ],
    [
      "a user's copy without git",
      () =>
        last(
          folder('ci/inventory', 0o755, alice),
          put('ci/templates/current/x.yml', 0o644, [alice, alice]),
          folder('ci', 0o755, alice),
          join(top, 'ci/templates/current/x.yml'),
        ),
      () =>
        `use a copy in a folder that only you can change; or trust the folder and all in it: export RPC_PLAYBOOKS_TRUST=${top}/ci`,
    ],
  ])('no file is taken from its owner, and a checkout is trusted as a whole: %s', (_, make, hint) => {
    const path = make();
    expect(refusal(distrust(path), dirname(path)).hint).toBe(hint());
  });

  test('a folder for all is neither closed nor trusted', () => {
    const sticky = folder('s', 0o1777);
    const faults = [...distrust(sticky, true), ...distrust(put('s/f', 0o644, [alice, alice]))];
    expect(refusal(faults, sticky).hint).toBe('use a copy in a folder that only you can change');
  });

  test('a folder is trusted beside others', () => {
    vi.stubEnv('RPC_PLAYBOOKS_TRUST', '/srv');
    expect(refusal(distrust(put('f', 0o666)), top).hint).toContain(
      `export RPC_PLAYBOOKS_TRUST="$RPC_PLAYBOOKS_TRUST":${top}`,
    );
  });

  test('each path is named once, ten of them at most, and none controls the terminal', () => {
    const many = Array.from({ length: 12 }, (_, at) => put(`\u001b[2J${at}`, 0o666));
    const { lines } = refusal(
      [...many, ...many].flatMap((path) => distrust(path)),
      top,
    );
    expect(lines).toHaveLength(11);
    expect(lines[0]).toBe(
      `${top}/?[2J0 can be changed by every user (mode 0666): what others can write is not used`,
    );
    expect(lines[10]).toBe('… and 2 more');
  });
});

describe.skipIf(!isRoot)('an attacker who swaps names', () => {
  /** A process of mallory that swaps what is at a path, as fast as it can, until the test ends. */
  async function swapping(path: string, first: string, second: string): Promise<ChildProcess> {
    // Perl is on every Debian. This Node may be in a folder of root's, where mallory cannot start
    // it.
    const script = `my ($path, $first, $second) = @ARGV; $| = 1; print "swaps\\n";
      while (1) {
        symlink $first, "$path.new"; rename "$path.new", $path;
        open my $file, '>', "$path.new"; print $file $second; close $file; rename "$path.new", $path;
        unlink $path;
      }`;
    const attacker = spawn('perl', ['-e', script, path, first, second], {
      uid: mallory,
      gid: mallory,
      cwd: '/',
    });
    onTestFinished(async () => {
      const ended = once(attacker, 'exit');
      attacker.kill('SIGKILL');
      await ended;
    });
    await once(attacker.stdout, 'data');
    return attacker;
  }

  test('never has a file read, in a sticky folder', async () => {
    const good = put('good', 0o644, [0, 0], 'good');
    const name = join(folder('s', 0o1777), 'f');
    await swapping(name, good, 'evil');
    const outcomes = new Map<string, number>();
    // The attacker may have to wait for a processor.
    const end = Date.now() + 60_000;
    const isSeen = () => outcomes.has('is a link of uid 1235');
    for (let tries = 0; tries < 2000 || (!isSeen() && Date.now() < end); tries++) {
      let outcome: string;
      try {
        outcome = readBounded(name, 100).toString();
      } catch (error) {
        outcome = (error as NodeJS.ErrnoException).code ?? (error as Error).message.replace(/:.*/, '');
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    expect([...outcomes.keys()]).not.toContain('evil');
    // Its link leads to a good file, and still is not followed.
    expect([...outcomes.keys()]).not.toContain('good');
    expect(outcomes.get('is a link of uid 1235') ?? 0, JSON.stringify([...outcomes])).toBeGreaterThan(0);
  });

  test('never has a file written elsewhere, in a sticky folder', async () => {
    const victim = put('victim', 0o644, [0, 0], 'as it was');
    const name = join(folder('s', 0o1777), 'f');
    await swapping(name, victim, 'evil');
    let written = 0;
    for (let tries = 0; tries < 1000; tries++) {
      try {
        writePrivateFile(name, 'new');
        written += 1;
      } catch (error) {
        expect((error as Error).message).toMatch(/^cannot write |exists and is not a file|is a link/);
      }
    }
    expect(readFileSync(victim, 'utf8')).toBe('as it was');
    expect(written).toBeGreaterThan(0);
  });
});
