import { dirname } from 'node:path';
import type { Progress, Reader, Writer } from '../../host/host.ts';
import { lastWordsFunction } from '../../host/last-words.ts';
import { quote } from '../../host/quote.ts';
import { readProgram, readScript } from '../../host/script.ts';
import { Failure, Problem } from '../../problem/problem.ts';
import { readText } from '../file/edited-text.ts';
import { runInUnit } from '../job/job.ts';
import type { Resource, Verdict, Work } from '../resource.ts';
import { drift, expectation, ok, refused, unitChange, unknownUntil } from '../resource.ts';
import { packages } from '../system/packages.ts';
import { settings, withDataRoot } from './data-root.ts';
import { engineInfo, untilDockerRuns } from './docker-engine.ts';

const template = (name: string) => new URL(`../../../../templates/host/${name}.sh`, import.meta.url);
const program = readProgram(template('move-docker-root'));
const obstacles = readScript(template('docker-root'), template('docker-root-obstacles'));

/**
 * The folder that the script of a move reads and writes. It has the file `from` as long as a move
 * is unfinished.
 */
const stateOf = (product: string) => `/var/lib/${product}/docker-root`;

interface DockerRoot {
  /** Prefix of the names of files that a move leaves on the host. */
  readonly product: string;
  /** The new folder of the engine's data. */
  readonly root: string;
  /** Where its disk is mounted. */
  readonly mountPoint: string;
  /** Mount points that are accepted as well: an engine with its data there is left alone. */
  readonly equals?: readonly string[];
}

/**
 * The data of the Docker engine is on a certain disk. Data that is elsewhere is copied there while
 * the engine is stopped, compared, and also kept where it was. The next run finishes a move that
 * was interrupted.
 */
export function dockerRoot({ product, root, mountPoint, equals = [] }: DockerRoot): Work {
  const name = `docker root is ${root}`;
  const check = async (host: Reader): Promise<Verdict> => {
    const [until, unfinished, mounted, now] = await Promise.all([
      untilDockerRuns(host),
      isUnfinished(host, product),
      host.$`mountpoint --quiet ${mountPoint}`,
      engineInfo(host),
    ]);
    if (unfinished) return unfinishedVerdict;
    if (until) return until;
    if (!mounted.ok) return unknownUntil(`a disk is mounted at ${mountPoint}`);
    if (now?.disk === undefined) return unknownUntil('the docker engine answers');
    const { root: folder, disk } = now;
    if ([mountPoint, ...equals].includes(disk)) return ok;
    const [refusal, rsync] = await Promise.all([
      obstacleOf(host, { product, from: folder, root }),
      packages('rsync').check(host),
    ]);
    const differences = [{ what: 'docker root', was: folder, wanted: root }];
    return refusal ?? drift(differences, rsync.is === 'drift' ? rsync.change : undefined);
  };
  return {
    name,
    changes: () => [unitChange('docker.service')],
    check,

    async work(host) {
      // An unfinished move may also end with the engine at its old place: then it starts again.
      if (await isUnfinished(host, product)) {
        await finish(host, product, name);
        if ((await check(host)).is !== 'drift') return;
      }
      await prepare(host, product, root);
      await finish(host, product, name);
    },
  };
}

/** Why a move would fail, if that can be known: it is not begun then, as it stops the engine. */
async function obstacleOf(
  host: Reader,
  { product, from, root }: { readonly product: string; readonly from: string; readonly root: string },
): Promise<Verdict | undefined> {
  const [found, unreadable] = await Promise.all([
    host.$({
      timeoutSeconds: 90,
    })`sh -c ${obstacles} docker-root-obstacles ${from} ${root} ${stateOf(product)}`,
    wantedSettings(host, root).then(
      () => undefined,
      (error: unknown) => error,
    ),
  ]);
  if (unreadable instanceof Problem) return drift(unreadable.message, unreadable);
  if (unreadable !== undefined) throw unreadable;
  const [cause, hint = ''] = found.lines();
  return cause === undefined || cause === '' ? undefined : refused(cause, hint);
}

/** An interrupted move of Docker's data is finished before anything else changes the engine. */
export function unfinishedMove(product: string): Work {
  const name = "no move of docker's data is unfinished";
  return {
    name,
    check: async (host) => ((await isUnfinished(host, product)) ? unfinishedVerdict : ok),
    work: (host) => finish(host, product, name),
  };
}

/** A reminder of the data that a move left behind. */
export function oldCopyIsRemoved(product: string): Resource {
  return expectation("the old copy of docker's data is removed", {
    check: async (host) => {
      const left =
        await host.$`p=$(cat ${`${stateOf(product)}/old-copy`}) && [ -n "$(find "$p" -mindepth 1 -maxdepth 1 ! -name lost+found -print -quit)" ] && echo "$p"`;
      if (!left.ok) return ok;
      const folder = left.text();
      return refused(
        `it is still at ${folder}`,
        `when all is well, free its room: find ${quote(folder)} -mindepth 1 -delete`,
      );
    },
    severity: 'should',
  });
}

const unfinishedVerdict: Verdict = drift("a move of docker's data was interrupted, and has to be finished");

async function isUnfinished(host: Reader, product: string): Promise<boolean> {
  return (await host.stat(`${stateOf(product)}/from`)) !== undefined;
}

/** Writes the input of the script. The last file marks the move as unfinished. */
async function prepare(host: Writer, product: string, root: string): Promise<void> {
  const state = stateOf(product);
  const [now, mount] = await Promise.all([
    host.$`docker info --format ${'{{.DockerRootDir}}'}`,
    host.$`stat -L --format %m ${dirname(root)}`,
  ]);
  if (!now.ok)
    throw new Failure('the docker engine does not answer', {
      hint: 'see systemctl status docker and journalctl -u docker',
    });
  await host.run`
    umask 077 && mkdir -p ${state} && cd ${state} || exit
    printf '%s\n' ${root} >to && printf '%s\n' ${mount.text()} >mount && printf '%s\n' ${now.text()} >from.new || exit
    sync to mount from.new && mv from.new from && sync .`;
}

/** Runs the move, or watches the one that is running. */
async function finish(host: Writer, product: string, title: string): Promise<void> {
  const unit = `${product}-docker-root`;
  const state = stateOf(product);
  const [{ active }, root, current] = await Promise.all([
    host.unit(`${unit}.service`),
    host.read(`${state}/to`),
    readText(host, settings),
  ]);
  if (root && (active === 'inactive' || active === 'failed')) {
    // Written at each start: other keys may have changed since the first one.
    const wanted = withDataRoot(current?.text ?? '', root.toString().trim());
    // A lost connection looks like the end of standard input.
    await host.run({ stdin: wanted })`
      umask 077 && cd ${state} && cat >settings.part && [ "$(wc -c <settings.part)" -eq ${Buffer.byteLength(wanted)} ] || exit
      sync settings.part && mv settings.part settings.new`;
  }
  const script = `${lastWordsFunction}state=${quote(state)}\n${program}`;
  await runInUnit(host, { unit, title, script, progress: (reader) => progress(reader, state) });
}

async function wantedSettings(host: Reader, root: string): Promise<string> {
  return withDataRoot((await readText(host, settings))?.text ?? '', root);
}

async function progress(host: Reader, state: string): Promise<Progress | undefined> {
  const [phase, needed, before, now] = await Promise.all([
    host.read(`${state}/phase`),
    host.read(`${state}/needed`),
    host.read(`${state}/free`),
    host.$`df -P -B1 "$(dirname "$(cat ${`${state}/to`})")" | sed -n ${'$s/.* \\([0-9][0-9]*\\)  *[0-9]*% .*/\\1/p'}`,
  ]);
  if (phase === undefined) return undefined;
  const what = phase.toString().trim();
  if (!what.startsWith('copying') || needed === undefined || before === undefined || !now.ok) return { what };
  const total = Number(needed);
  const done = Math.min(Math.max(Number(before) - Number(now.text()), 0), total);
  return { what, done, total, unit: 'bytes' };
}
