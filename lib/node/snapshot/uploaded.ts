import type { Reader } from '../../engine/host/host.ts';
import { readProgram } from '../../engine/host/script.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { inRootsFolder } from '../../engine/host/step-script.ts';
import { bytesIn, job, jobDirectory } from '../../engine/resource/job/job.ts';
import { listStorage, mostListed } from '../../engine/resource/network/storage.ts';
import {
  drift,
  expectation,
  ok,
  type Resource,
  unknownUntil,
  type Verdict,
} from '../../engine/resource/resource.ts';
import type { Context } from '../../engine/resource/role.ts';
import { skipWhen } from '../../engine/resource/skip-when.ts';
import { packages } from '../../engine/resource/system/packages.ts';
import { pieceName } from '../variables/manifest.ts';
import { inBucket, type Storage, signing, webAddress } from '../variables/s3.ts';
import type { Variables } from '../variables/variables.ts';
import { askFile, keysAreThere } from './ask-file.ts';
import type { JudgeManifest } from './judge-manifest.ts';

const template = (name: string) => new URL(`../../../templates/host/${name}.sh`, import.meta.url);
const tryScript = readProgram(template('fetch'), template('send'), template('try-storage'));
const script = readProgram(template('fetch'), template('send'), template('upload-snapshot'));

const keyFile = `${jobDirectory}/storage-upload`;

/** Of one request. Seconds. */
const limit = 30;

/** Bytes of one part of an upload, which is sent again as a whole: S3 takes at least 5 MiB. */
const partSize = 64 * 1024 ** 2;

/** Bytes, as the inventory reads it. */
const longestManifest = 16 * 1024 ** 2;

/** What a snapshot consists of, in a storage. */
const isOfSnapshot = (name: string) =>
  pieceName.test(name) || /^(manifest\.json|(testnet_)?(state|prover)_db\.sql\.tar\.gz)$/.test(name);

interface AskedSnapshot {
  /** The resources that take it into a folder, after a script that has to succeed. */
  readonly take: (folder: string, before: string) => Resource[];
  /** Judges the manifest that the storage has already. */
  readonly isWanted: JudgeManifest;
}

/**
 * A folder in a storage has a snapshot. The host takes it into a folder of its own, sends it, and
 * removes it there. What the storage refuses is known before anything is copied.
 *
 * @param target `s3://bucket/folder`
 */
export function snapshotIsUploaded(
  { vars }: Pick<Context<Variables>, 'vars'>,
  storage: Storage,
  target: string,
  { take, isWanted }: AskedSnapshot,
): Resource[] {
  const folder = `${vars.paths.data}/snapshot-to-send/${target.replace('s3://', '')}`;
  const settings = shellSettings({
    URL: `${webAddress(target, storage)}/`,
    SHOWN: `${target}/`,
    KEYS: keyFile,
    CONNECTIONS: vars.snapshot.connections,
    PART: partSize,
  });
  const asked: Target = { storage, folder: target, isWanted };
  const sent = isInStorage(asked);
  const uploaded = folderIsSent(asked, folder, settings);
  const all = take(folder, `${settings}${tryScript}`);
  const [prepared, taken] = [all.slice(0, -1), all.at(-1)];
  const keys = keysAreThere(storage, keyFile).map((resource) => skipWhen(uploaded, resource));
  return [
    skipWhen(uploaded, packages('curl')),
    storageTakesSnapshot(asked, folder),
    ...prepared.map((resource) => skipWhen(sent, resource)),
    // The trial removes them, as the job that follows it may take hours, or fail.
    ...(taken ? [...keys.map((key) => skipWhen(taken, key)), taken] : []).map((each) => skipWhen(sent, each)),
    ...keys,
    uploaded,
  ];
}

/** A folder in a storage, and what may be in it. */
interface Target {
  readonly storage: Storage;
  /** `s3://bucket/folder` */
  readonly folder: string;
  readonly isWanted: JudgeManifest;
}

/** The storage has the whole snapshot, and the host no longer has the folder from which it was sent. */
function folderIsSent(target: Target, folder: string, settings: string): Resource {
  const sent = isInStorage(target);
  return job(`snapshot is in ${target.folder}`, {
    unit: 'rpc-node-snapshot-upload',
    script: `${shellSettings({ FOLDER: folder })}${settings}${inRootsFolder(folder)}\n${script}`,
    done: async (host) => {
      const [inStorage, ...left] = await Promise.all([
        sent.check(host),
        host.stat(folder),
        host.stat(`${folder}.sent`),
      ]);
      const isLeft = left.some((each) => each !== undefined);
      return inStorage.is === 'ok' && isLeft ? drift(`${folder} is still there`) : inStorage;
    },
    progress: async (host) => bytesIn(host, [folder], 'sending the snapshot, which is left here'),
  });
}

/** The storage has the whole snapshot: its manifest is sent last. */
function isInStorage(target: Target) {
  return {
    check: async (host: Reader) => {
      const held = await heldIn(host, target);
      if (typeof held === 'string') return drift(held);
      return (
        (await judgeHeld(host, target, held)) ??
        drift([{ what: 'snapshot', was: 'absent', wanted: `${target.folder}/manifest.json` }])
      );
    },
  };
}

const heldIn = (host: Reader, { storage, folder }: Target) => {
  const { bucket, prefix } = inBucket(folder, storage);
  const asked = { url: bucket, shown: folder, signing: signing(storage) };
  return listStorage(host, asked, prefix, limit, 'snapshot.s3');
};

/**
 * Judges the snapshot that the storage has in the folder.
 *
 * @param held the bytes of each name there, in the order of the names
 * @returns undefined without a manifest
 */
async function judgeHeld(
  host: Reader,
  { storage, folder, isWanted }: Target,
  held: ReadonlyMap<string, number>,
): Promise<Verdict | undefined> {
  const size = held.get('manifest.json');
  if (size === undefined) return undefined;
  const answer = await askFile(
    host,
    `${folder}/manifest.json`,
    storage,
    Math.min(Math.max(size, 1), longestManifest),
  );
  if (!answer.answered) return drift(`${folder}/manifest.json: ${answer.why}`);
  // What comes later in a long list is not known.
  const last = held.size < mostListed ? undefined : [...held.keys()].at(-1);
  return isWanted(
    answer.body.toString(),
    folder,
    (file, bytes) => held.get(file) === bytes || (last !== undefined && file > last),
  );
}

/** The storage answers, and the folder there is empty, or has what this host sends or has sent. */
function storageTakesSnapshot(target: Target, own: string): Resource {
  const { folder } = target;
  return expectation(`${folder} is free for the snapshot`, {
    check: async (host): Promise<Verdict> => {
      const [held, sending] = await Promise.all([heldIn(host, target), host.stat(`${own}/.upload`)]);
      if (held === 'curl is not installed') return unknownUntil('curl is installed');
      if (typeof held === 'string') return drift(`${folder}: ${held}`);
      const isOwn = held.has('manifest.json') || sending !== undefined;
      const foreign = [...held.keys()].find((name) => !(isOwn && isOfSnapshot(name)));
      if (foreign === undefined) return (await judgeHeld(host, target, held)) ?? ok;
      return drift(`${folder} holds ${foreign}, which is not of a snapshot that this host sends`);
    },
    hint: 'name another folder, or correct snapshot.s3: nothing in the storage is changed',
  });
}
