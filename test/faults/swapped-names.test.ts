import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { CommandFailed } from '../../lib/engine/host/output.ts';
import { directory, file, line, link } from '../../lib/engine/resource/kinds.ts';
import { ok, type Resource } from '../../lib/engine/resource/resource.ts';
import { makeSteps } from '../../lib/engine/resource/testing/test-host.ts';
import { thisMachine } from '../../lib/engine/resource/testing/this-machine.ts';
import { measured } from './measured.ts';
import { inEveryForm } from './seed.ts';

/** Times that each change is made: `npm run faults` makes more than 2,000 changes of all kinds. */
const rounds = inEveryForm ? 150 : 5;
/** No account has it: its processes can do what those of any user can. */
const attacker = 64_242;

const host = await thisMachine();
const top = mkdtempSync(join(tmpdir(), 'swapped-names-'));
chmodSync(top, 0o755);
afterAll(() => rmSync(top, { recursive: true, force: true }));

interface Place {
  /** The attacker's. */
  readonly folder: string;
  /**
   * Root's. It has all names that root changes in the folder: a folder that is a link would lead
   * to them.
   */
  readonly victim: string;
}

function newPlace(): Place {
  const home = mkdtempSync(join(top, 'place-'));
  const [folder, victim] = [join(home, 'folder'), join(home, 'victim')];
  mkdirSync(folder);
  for (const path of [home, folder]) chownSync(path, attacker, attacker);
  chmodSync(home, 0o755);
  mkdirSync(victim);
  for (const name of ['precious', 'name']) writeFileSync(join(victim, name), 'text\n', { mode: 0o600 });
  for (const name of ['below', 'directory']) mkdirSync(join(victim, name), { mode: 0o700 });
  return { folder, victim };
}

/** All of a tree, with what any change leaves: its times, its links. */
function listing(path: string): string[] {
  const { mode, uid, gid, size, ctimeMs, nlink } = lstatSync(path);
  const content = lstatSync(path).isFile()
    ? createHash('sha256').update(readFileSync(path)).digest('hex')
    : '';
  const below = lstatSync(path).isDirectory() ? readdirSync(path).sort() : [];
  return [
    [path, mode.toString(8), uid, gid, size, ctimeMs, nlink, content].join(' '),
    ...below.flatMap((name) => listing(join(path, name))),
  ];
}

/** Swaps names until it is ended. */
async function attack(how: string, { folder, victim }: Place): Promise<() => Promise<void>> {
  const script = new URL('swapped-names.pl', import.meta.url).pathname;
  const child = spawn('perl', [script, how, folder, join(victim, 'precious'), victim], {
    uid: attacker,
    gid: attacker,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const end = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(end);
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  return end;
}

type Kind = readonly [what: string, before: string | undefined, resource: (folder: string) => Resource];
const inFolder = (before: string | undefined, make: (path: string) => Resource, name = 'name') =>
  [name, before, (folder: string) => make(join(folder, name))] as const;
const theirs = (path: string) => file(path).content('new\n').mode(0o640).owner(attacker).group(attacker);

const kinds: readonly Kind[] = [
  inFolder(undefined, theirs),
  inFolder('new\n', (path) => theirs(path).mode(0o604)),
  inFolder(undefined, (path) => file(path).content('new\n').mode(0o600)),
  inFolder('text\n', (path) => line(path, 'more')),
  inFolder(undefined, (path) => directory(path).mode(0o750).owner(attacker).group(attacker), 'directory'),
  inFolder(undefined, (path) => directory(join(path, 'a/b')).mode(0o750).owner(attacker), 'below'),
  inFolder(undefined, (path) => link(path, 'target')),
];

/** The steps of a change, from a check of a folder that is not attacked yet. */
async function stepsIn({ folder }: Place, [name, before, resource]: Kind) {
  if (before !== undefined) {
    writeFileSync(join(folder, name), before);
    chownSync(join(folder, name), attacker, attacker);
  }
  const verdict = await resource(folder).check(host);
  if (verdict.is !== 'drift' || !Array.isArray(verdict.change)) throw new Error(`${name} is not changed`);
  return verdict.change;
}

test('in a folder of another user, each is made as in one of root, and nothing else is left there', async () => {
  for (const kind of kinds) {
    const place = newPlace();
    await makeSteps(host, ...(await stepsIn(place, kind)));
    expect(await kind[2](place.folder).check(host)).toEqual(ok);
    expect(readdirSync(place.folder)).toEqual([kind[0]]);
  }
});

describe('Names that another user swaps while root uses them', () => {
  test.for([
    ["files, temporary files and folders in that user's folder", 'names'],
    ["that user's folder itself, by a link", 'folder'],
  ])("%s: what is root's stays", async ([, how = ''], { task }) => {
    const counts = { made: 0, refused: 0 };
    for (const kind of kinds) {
      const place = newPlace();
      const steps = await stepsIn(place, kind);
      const before = listing(place.victim);
      const end = await attack(how, place);
      // By chance the attacker may be in the way of each change: one at least has to be made.
      const goesOn = (round: number) => round < rounds || (counts.made === 0 && round < 40 * rounds);
      for (let round = 0; goesOn(round); round += 1) {
        try {
          if (await makeSteps(host, ...steps)) counts.made += 1;
          else counts.refused += 1;
        } catch (error) {
          if (!(error instanceof CommandFailed)) throw error;
          counts.refused += 1;
        }
      }
      await end();
      expect.soft(listing(place.victim), kind[0]).toEqual(before);
    }
    expect(counts.made).toBeGreaterThan(0);
    measured(
      task,
      `${counts.made + counts.refused} changes: ${counts.refused} refused, nothing of root's changed`,
    );
  });
});
