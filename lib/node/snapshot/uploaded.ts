import type { Reader } from '../../engine/host/host.ts';
import { readProgram } from '../../engine/host/script.ts';
import { shellSettings } from '../../engine/host/shell-settings.ts';
import { inRootsFolder } from '../../engine/host/step-script.ts';
import { bytesIn, job, jobDirectory } from '../../engine/resource/job/job.ts';
import { listStorage } from '../../engine/resource/network/storage.ts';
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
import { inBucket, type Storage, signing, webAddress } from '../variables/s3.ts';
import type { Variables } from '../variables/variables.ts';
import { keysAreThere } from './ask-file.ts';

const template = (name: string) => new URL(`../../../templates/host/${name}.sh`, import.meta.url);
const tryScript = readProgram(template('fetch'), template('send'), template('try-storage'));
const script = readProgram(template('fetch'), template('send'), template('upload-snapshot'));

const keyFile = `${jobDirectory}/storage-upload`;

/** Of one request. Seconds. */
const limit = 30;

/** Bytes of one part of an upload, which is sent again as a whole: S3 takes at least 5 MiB. */
const partSize = 64 * 1024 ** 2;

/** What a snapshot consists of, in a storage. */
const ownName = /^(manifest\.json|piece-\d{6}\.tar\.zst|(testnet_)?(state|prover)_db\.sql\.tar\.gz)$/;

/**
 * A folder in a storage has a snapshot. The host takes it into a folder of its own, sends it, and
 * removes it there. What the storage refuses is known before anything is copied.
 *
 * @param target `s3://bucket/folder`
 * @param take the resources that take a snapshot into a folder, after a script that has to succeed
 */
export function snapshotIsUploaded(
  { vars }: Pick<Context<Variables>, 'vars'>,
  storage: Storage,
  target: string,
  take: (folder: string, before: string) => Resource[],
): Resource[] {
  const folder = `${vars.paths.data}/snapshot-to-send/${target.replace('s3://', '')}`;
  const settings = shellSettings({
    URL: `${webAddress(target, storage)}/`,
    SHOWN: `${target}/`,
    KEYS: keyFile,
    CONNECTIONS: vars.snapshot.connections,
    PART: partSize,
  });
  const sent = isInStorage(storage, target);
  const uploaded = job(`snapshot is in ${target}`, {
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
  const all = take(folder, `${settings}${tryScript}`);
  const [prepared, taken] = [all.slice(0, -1), all.at(-1)];
  const keys = keysAreThere(storage, keyFile).map((resource) => skipWhen(uploaded, resource));
  return [
    skipWhen(uploaded, packages('curl')),
    storageTakesSnapshot(storage, target, folder),
    ...prepared.map((resource) => skipWhen(sent, resource)),
    // The trial removes them, as the job that follows it may take hours, or fail.
    ...(taken ? [...keys.map((key) => skipWhen(taken, key)), taken] : []).map((each) => skipWhen(sent, each)),
    ...keys,
    uploaded,
  ];
}

/** The storage has the whole snapshot: its manifest is sent last. */
function isInStorage(storage: Storage, target: string) {
  return {
    check: async (host: Reader) => {
      const names = await namesIn(host, storage, target);
      if (typeof names === 'string') return drift(names);
      return names.includes('manifest.json')
        ? ok
        : drift([{ what: 'snapshot', was: 'absent', wanted: `${target}/manifest.json` }]);
    },
  };
}

const namesIn = (host: Reader, storage: Storage, target: string) => {
  const { bucket, prefix } = inBucket(target, storage);
  return listStorage(
    host,
    { url: bucket, shown: target, signing: signing(storage) },
    prefix,
    limit,
    'snapshot.s3',
  );
};

/** The storage answers, and the folder there is empty, or has what this host sends or has sent. */
function storageTakesSnapshot(storage: Storage, target: string, folder: string): Resource {
  return expectation(`${target} is free for the snapshot`, {
    check: async (host): Promise<Verdict> => {
      const [names, sending] = await Promise.all([
        namesIn(host, storage, target),
        host.stat(`${folder}/.upload`),
      ]);
      if (names === 'curl is not installed') return unknownUntil('curl is installed');
      if (typeof names === 'string') return drift(`${target}: ${names}`);
      const isOwn = names.includes('manifest.json') || sending !== undefined;
      const foreign = names.find((name) => !(isOwn && ownName.test(name)));
      return foreign === undefined
        ? ok
        : drift(`${target} holds ${foreign}, which is not of a snapshot that this host sends`);
    },
    hint: 'name another folder, or correct snapshot.s3: nothing in the storage is changed',
  });
}
